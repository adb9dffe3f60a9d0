import type { ApplicationInstance } from '../../../resources/application-instance.ts';
import { refOf } from '../../../resources/kube-object.ts';
import { APPLICATION_INSTANCE_FINALIZER, META_FIELD_MANAGER } from '../../../resources/labels.ts';
import { NEXT, type InstancePass, type StepResult } from '../instance-pass.ts';

/** Before anything is made downstream: so that a deletion is always seen, whatever it then means. */
export async function ensureFinalizer(pass: InstancePass): Promise<StepResult> {
  const { instance, deps, signal } = pass;
  const { finalizers = [], resourceVersion } = instance.metadata;
  if (finalizers.includes(APPLICATION_INSTANCE_FINALIZER)) return NEXT;
  pass.instance = await deps.api.mergePatch<ApplicationInstance>(
    refOf(instance),
    {
      // A merge patch replaces the whole list; the precondition keeps another's finalizer from being lost.
      metadata: {
        ...(resourceVersion === undefined ? {} : { resourceVersion }),
        finalizers: [...finalizers, APPLICATION_INSTANCE_FINALIZER],
      },
    },
    { fieldManager: META_FIELD_MANAGER },
    signal,
  );
  pass.watches.instances.note(pass.instance);
  return NEXT;
}
