import { approvalViolations } from '../policy/approval-is-not-given.ts';
import type { Approvable } from '../policy/approval-need.ts';
import { approvalsFor, judgeApproval } from '../policy/judge-approval.ts';
import type { PolicySituation, PolicyViolation } from '../policy/policy-violation.ts';
import { Reason } from '../resources/reasons.ts';
import type { ConsumedApprovals } from './consumed-approvals.ts';

/** The memory of used approvals, as controllers use it. */
export type ApprovalMemory = Pick<ConsumedApprovals, 'consume' | 'usedBy' | 'withdraw'>;

/** Violations: nothing may be done. `specHash`: what was approved, to be remembered with it; undefined: no approval was needed. */
export type TakenApproval =
  | { readonly violations: readonly [PolicyViolation, ...PolicyViolation[]] }
  | { readonly violations: readonly []; readonly specHash: string | undefined };

/** What a check needs to know of the memory. */
export function knownUses(approvals: ApprovalMemory | undefined): Pick<PolicySituation, 'usedBy'> {
  return approvals === undefined ? {} : { usedBy: (jti, uid) => approvals.usedBy(jti, uid) };
}

/**
 * Writes down whose the approvals are that an object carries or that came apart for it, whether it may run yet or not: what
 * is deleted before its start, and made again by somebody, has no use of them.
 *
 * @throws KubeError when that could not be written down
 */
export async function claimApprovals(
  approvals: ApprovalMemory | undefined,
  object: Approvable,
  situation: Pick<PolicySituation, 'policy' | 'now'>,
  signal: AbortSignal,
): Promise<void> {
  if (approvals === undefined) return;
  for (const statement of await approvalsFor(object, situation)) await approvals.consume(statement, object, signal);
}

/**
 * Writes down that no approval which the object carries, which came for it or which it used is good for anything any more;
 * call before it is written down that it has ended.
 *
 * @throws KubeError, Error when that could not be written down
 */
export async function withdrawApprovals(
  approvals: ApprovalMemory | undefined,
  object: Approvable,
  situation: Pick<PolicySituation, 'policy' | 'now'>,
  signal: AbortSignal,
): Promise<void> {
  if (approvals === undefined) return;
  await approvals.withdraw(await approvalsFor(object, situation), object, signal);
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
