import { isTrue } from './conditions.ts';
import { intentIdOf } from './intent-ids.ts';
import type { KubeObject } from './kube-object.ts';
import { OPERATION_KIND, type Operation } from './operation.ts';

const ENDS = ['Succeeded', 'Failed', 'Cancelled'];

/**
 * What is there under the name of an operation has begun, and not for its intent: an operation runs once, so nothing can be made
 * of it any more, and how it ended says nothing of what is asked for now. A cancellation is about the one that is there. Answers
 * what to say of it. Pure.
 */
export function operationNameIsUsed(desired: KubeObject, live: KubeObject | undefined): string | undefined {
  if (desired.kind !== OPERATION_KIND || live === undefined) return undefined;
  const { spec } = desired as Operation;
  const { status } = live as Operation;
  const hasBegun = (status?.attempts ?? 0) > 0 || ENDS.some((type) => isTrue(status?.conditions, type));
  const by = intentIdOf(live);
  if (!hasBegun || spec.cancel === true || (by !== undefined && by === intentIdOf(desired))) return undefined;
  const whose = by === undefined ? 'was not brought by the control plane' : `came by intent ${by}`;
  return (
    `there is an operation ${live.metadata.name} already, which ${whose} and has begun: an operation runs once; ` +
    'ask for it under another name'
  );
}
