/** An operation template of an organization: one of its own, or what it set of a built-in one. */
export interface OperationTemplateRow {
  organization_id: string;
  name: string;
  /** JSON `OperationTemplateDefinition`. */
  definition: string;
  /** JSON `RequiredApprovals`; null: its operations need none. */
  approval: string | null;
  updated_at: string;
}

export type ApprovalState = 'pending' | 'approved' | 'rejected' | 'expired' | 'withdrawn';

/** That an intent needs an approval, and what became of it. One for each such intent. */
export interface ApprovalRow {
  id: string;
  organization_id: string;
  cluster_id: string;
  intent_id: string;
  state: ApprovalState;
  /** JSON `RequiredApprovals`. */
  required: string;
  /** `approvedSpecHash` of the spec as it will be delivered. */
  spec_hash: string;
  requested_by: string;
  /** Hash of the admin token that asked: under another name it approves nothing either. */
  requested_with: string | null;
  requested_at: string;
  /** When the request falls, where nobody decided. */
  expires_at: string;
  /** How it was given: by the API (the CLI and the page call it too) or by merging the intent's proposal. */
  via: 'api' | 'proposal' | null;
  proposal_id: string | null;
  /** Names of those who approved, separated by `, `. */
  approved_by: string | null;
  /** Compact JWS `ApprovalStatement`. */
  statement: string | null;
  /** The key that signed it. */
  statement_kid: string | null;
  jti: string | null;
  /** From the approval on, signed or not. */
  statement_expires_at: string | null;
  decided_at: string | null;
  reason: string | null;
}

export interface ApprovalReviewRow {
  id: string;
  approval_id: string;
  kind: 'approve' | 'reject';
  actor: string;
  /** JSON: the actor's roles then. */
  roles: string;
  token_hash: string;
  at: string;
  comment: string | null;
}

/** The versions of a catalog entry's chart as its registry last gave them. */
export interface ChartVersionsRow {
  organization_id: string;
  entry: string;
  /** The chart's type, URL and name that they are of, as one text. */
  source: string;
  /** JSON `ChartVersions`. */
  versions: string;
  /** The newest of them that the entry's range allows and that is not deprecated. */
  newest_allowed: string | null;
  etag: string | null;
  /** When they last came. */
  fetched_at: string | null;
  /** When they were last asked for. */
  checked_at: string | null;
  next_check_at: string | null;
  /** Why they did not come the last time. */
  fault: string | null;
}
