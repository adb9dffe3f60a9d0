import { Reason } from './reasons.ts';

/** Why an operation is Blocked that goes on when somebody approves it, gives its namespace to the operator, or ends a pause. */
export const BLOCKED_FOR_NOW: readonly string[] = [Reason.ApprovalMissing, Reason.NamespaceNotLabelled, Reason.Paused];
