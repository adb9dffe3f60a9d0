import { approvalViolations } from '../policy/approval-is-not-given.ts';
import type { Approvable } from '../policy/approval-need.ts';
import { judgeApproval } from '../policy/judge-approval.ts';
import type { PolicySituation, PolicyViolation } from '../policy/policy-violation.ts';
import { Reason } from '../resources/reasons.ts';
import type { ConsumedApprovals } from './consumed-approvals.ts';

/** The memory of used approvals, as controllers use it. */
export type ApprovalMemory = Pick<ConsumedApprovals, 'consume' | 'usedBy'>;

/** Violations: nothing may be done. `specHash`: what was approved, to be remembered with it; undefined: no approval was needed. */
export type TakenApproval =
  | { readonly violations: readonly [PolicyViolation, ...PolicyViolation[]] }
  | { readonly violations: readonly []; readonly specHash: string | undefined };

/** What a check needs to know of the memory. */
export function knownUses(approvals: ApprovalMemory | undefined): Pick<PolicySituation, 'usedBy'> {
  return approvals === undefined ? {} : { usedBy: (jti, uid) => approvals.usedBy(jti, uid) };
}

/**
 * Uses the approval that the object needs, if it needs one; call right before anything runs or is released. It may be called
 * again for the same object.
 *
 * @throws KubeError when the use could not be written down; nothing may be done then
 */
export async function takeApproval(
  approvals: ApprovalMemory | undefined,
  object: Approvable,
  situation: PolicySituation,
  signal: AbortSignal,
): Promise<TakenApproval> {
  const judged = await judgeApproval(object, { ...situation, ...knownUses(approvals) });
  const [first, ...more] = approvalViolations(judged, object, situation.policy);
  if (first !== undefined) return { violations: [first, ...more] };
  if (judged.state === 'released') return { violations: [], specHash: judged.specHash };
  if (judged.state !== 'good') return { violations: [], specHash: undefined };
  const use = (await approvals?.consume(judged.statement, object, signal)) ?? { state: 'ok' };
  if (use.state === 'ok') return { violations: [], specHash: judged.specHash };
  if (use.state === 'full') {
    const message = `${use.kept} approvals are in use, and no more are remembered; this one is used when the first of them ends`;
    return { violations: [{ reason: Reason.ApprovalMissing, message }] };
  }
  const used = {
    state: 'used',
    message: `the approval was used already, by ${use.by}, and one is good for one use`,
  } as const;
  const [violation = { reason: Reason.ApprovalUsed, message: used.message }] = approvalViolations(
    used,
    object,
    situation.policy,
  );
  return { violations: [violation] };
}
