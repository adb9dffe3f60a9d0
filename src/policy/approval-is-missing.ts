import type { Operation } from '../resources/operation.ts';
import { Reason } from '../resources/reasons.ts';
import type { PolicyViolation } from './policy-violation.ts';

/** The operation needs an approval and carries none. What is to be cancelled needs none: it does not run. */
export function approvalIsMissing(operation: Pick<Operation, 'metadata' | 'spec'>): readonly PolicyViolation[] {
  if (!needsApproval(operation) || operation.spec.approval?.statement !== undefined) return [];
  const message =
    'the operation needs an approval and carries no statement in spec.approval.statement; nobody in the cluster can ' +
    `approve it; ${NO_APPROVALS_YET}`;
  return [{ reason: Reason.ApprovalMissing, message }];
}

export function needsApproval({ spec }: Pick<Operation, 'spec'>): boolean {
  return spec.approval?.required === true && spec.cancel !== true;
}

/** What can be done without a statement that is valid: none is made yet. */
export const NO_APPROVALS_YET =
  'only the control plane approves, by its signature, and this version does neither that nor run operations: ' +
  'delete the operation, or set spec.cancel';
