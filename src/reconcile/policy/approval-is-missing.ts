import type { Operation } from '../../resources/operation.ts';
import { Reason } from '../../resources/reasons.ts';
import type { PolicySituation, PolicyViolation } from './policy-violation.ts';

/** The operation needs an approval and carries none. What is to be cancelled needs none: it does not run. */
export function approvalIsMissing(
  operation: Pick<Operation, 'metadata' | 'spec'>,
  { policy }: Pick<PolicySituation, 'policy'>,
): readonly PolicyViolation[] {
  if (!needsApproval(operation) || operation.spec.approval?.statement !== undefined) return [];
  const message =
    'the operation needs an approval and carries no statement in spec.approval.statement; nobody in the cluster can ' +
    `approve it; ${askForApproval(policy.clusterId)}`;
  return [{ reason: Reason.ApprovalMissing, message }];
}

export function needsApproval({ spec }: Pick<Operation, 'spec'>): boolean {
  return spec.approval?.required === true && spec.cancel !== true;
}

/** How an approved operation comes about. */
export function askForApproval(clusterId: string): string {
  return `ask for it there, and an approver signs it: POST /api/v1/clusters/${clusterId}/intents with action operate`;
}
