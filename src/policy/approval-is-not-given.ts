import { INTENT_ID_ANNOTATION } from '../resources/labels.ts';
import { Reason } from '../resources/reasons.ts';
import type { Approvable, ApprovalNeed } from './approval-need.ts';
import type { ClusterPolicy } from './cluster-policy.ts';
import { judgeApproval, type ApprovalState } from './judge-approval.ts';
import type { PolicySituation, PolicyViolation } from './policy-violation.ts';

/** The object needs an approval here and has none, or none that counts. */
export async function approvalIsNotGiven(
  object: Approvable,
  situation: PolicySituation,
): Promise<readonly PolicyViolation[]> {
  return approvalViolations(await judgeApproval(object, situation), object, situation.policy);
}

/** What an approval's state forbids, in words. */
export function approvalViolations(
  judged: ApprovalState,
  object: Approvable,
  policy: ClusterPolicy,
): readonly PolicyViolation[] {
  switch (judged.state) {
    case 'not needed':
    case 'released':
    case 'good':
      return [];
    case 'missing': {
      const message = `${judged.need.why} and there is none; ${remedy(object, policy, judged.need)}`;
      return [{ reason: Reason.ApprovalMissing, message }];
    }
    case 'early':
      return [{ reason: Reason.ApprovalMissing, message: `${judged.message}; it is used once that has come` }];
    case 'invalid':
      return [{ reason: Reason.ApprovalInvalid, message: `${judged.message}; ${anew(policy)}` }];
    case 'used':
      return [{ reason: Reason.ApprovalUsed, message: `${judged.message}; ${anew(policy)}` }];
  }
}

function remedy({ metadata }: Approvable, policy: ClusterPolicy, { unknown }: ApprovalNeed): string {
  if (unknown !== undefined) return unknown;
  const intentId = metadata.annotations?.[INTENT_ID_ANNOTATION];
  if (intentId === undefined) return `nobody in the cluster can approve it; ${anew(policy)}`;
  return `nobody in the cluster can approve it; somebody else than who asked does at the control plane with: servicectl operations approve ${intentId}; where that intent waits for no approval, ask for it anew`;
}

/** An approval is never mended: what it should have been for is asked for again. */
function anew({ clusterId }: ClusterPolicy): string {
  return `ask for it anew with an intent and have that approved: POST /api/v1/clusters/${clusterId}/intents`;
}
