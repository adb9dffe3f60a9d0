import { KubeError } from '../../kube/cluster-api.ts';
import type { KubeObject } from '../../resources/kube-object.ts';
import { Reason } from '../../resources/reasons.ts';
import { definitionIsTerminating } from '../definition-is-terminating.ts';
import { fingerprint, holds } from '../../resources/drift.ts';
import type { WatchedView } from '../watched.ts';
import type { InstancePass, StepResult } from './instance-pass.ts';
import { FINGERPRINT_ANNOTATION, isOwned, RELEASE_FIELD_MANAGER } from './owned-meta.ts';
import { progressing, stalled } from './verdict.ts';

/** Still being deleted from before: looked at again after so long, should the watch not tell. */
const TERMINATING_RETRY_MS = 30_000;
/** By then the watch knows an object that stood in the way unseen. */
const UNSEEN_RETRY_MS = 1000;

export type Ensured<T> =
  | { readonly kind: 'there'; readonly object: T }
  | { readonly kind: 'held'; readonly result: StepResult };

/**
 * Brings a Flux object to what is desired. The fields we set are ours: an edit by hand is taken back. An object of the
 * same name that was not made of this instance is never touched.
 *
 * @throws KubeError
 */
export async function ensureOwned<T extends KubeObject>(
  pass: InstancePass,
  watched: WatchedView<T>,
  desired: T,
  observed: T | undefined,
): Promise<Ensured<T>> {
  const live = observed;
  const named = `${desired.kind} ${desired.metadata.namespace ?? ''}/${desired.metadata.name}`;
  if (live !== undefined && !isOwned(live, pass.instance)) {
    const message = `${named} exists and was not made from this resource; rename the one or remove the other`;
    return {
      kind: 'held',
      result: { kind: 'done', verdict: stalled(Reason.ReleaseNotOwned, message), requeueAfterMs: 60_000 },
    };
  }
  if (live?.metadata.deletionTimestamp !== undefined) {
    const verdict = progressing(Reason.HelmReleasePending, `waits until the earlier ${named} is gone`);
    return { kind: 'held', result: { kind: 'done', verdict, requeueAfterMs: TERMINATING_RETRY_MS } };
  }
  const print = fingerprint(desired);
  if (live?.metadata.annotations?.[FINGERPRINT_ANNOTATION] === print && holds(live, desired)) {
    return { kind: 'there', object: live };
  }
  const annotations = { ...desired.metadata.annotations, [FINGERPRINT_ANNOTATION]: print };
  // Not by force where nothing was seen: should another's object have come in this moment, the server tells by a conflict.
  const options = { fieldManager: RELEASE_FIELD_MANAGER, force: live !== undefined };
  const manifest = { ...desired, metadata: { ...desired.metadata, annotations } };
  // Only for one that was there before: a request more, which a first installation need not make.
  if (live === undefined && pass.instance.status?.release !== undefined) {
    const ending = await definitionIsTerminating(pass.deps.api, manifest, RELEASE_FIELD_MANAGER, pass.signal);
    if (ending !== undefined) {
      const verdict = stalled(Reason.DefinitionTerminating, ending);
      return { kind: 'held', result: { kind: 'done', verdict, requeueAfterMs: TERMINATING_RETRY_MS } };
    }
  }
  try {
    const { object } = await pass.deps.api.apply<T>(manifest, options, pass.signal);
    watched.note(object);
    return { kind: 'there', object };
  } catch (error) {
    if (options.force || !(error instanceof KubeError) || error.status !== 409) throw error;
    return { kind: 'held', result: { kind: 'done', requeueAfterMs: UNSEEN_RETRY_MS } };
  }
}
