import { describeAll, type DurableEntry } from '../../protocol/durable-entry.ts';
import type { AgentEvent } from '../../protocol/event.ts';
import { APPLICATION_INSTANCE_KIND } from '../../resources/application-instance.ts';
import { Reason } from '../../resources/reasons.ts';

const REFUSED: readonly (string | undefined)[] = [Reason.ApprovalInvalid, Reason.ApprovalUsed];

/**
 * The entry of an event that tells that an instance came with an approval that does not count: forged, over, of something
 * else, or used. The specification's rule makes `Blocked` of an Operation durable and not `Stalled` of an
 * ApplicationInstance; who looks for tried approvals looks for both. It has a kind of its own, so that nothing is under the
 * kinds of the specification but what the specification has there.
 */
export function refusedApprovalIn({
  kind,
  resourceRef,
  conditions,
}: Pick<AgentEvent, 'kind' | 'resourceRef' | 'conditions'>):
  | (DurableEntry & { readonly kind: 'ApprovalRefused' })
  | undefined {
  if (kind !== 'ConditionTransition' || resourceRef.kind !== APPLICATION_INSTANCE_KIND) return undefined;
  const refused = conditions.filter(
    ({ type, status, reason }) => type === 'Stalled' && status === 'True' && REFUSED.includes(reason),
  );
  return refused.length === 0 ? undefined : { kind: 'ApprovalRefused', ...describeAll('', refused) };
}
