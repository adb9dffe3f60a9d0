/**
 * Where a proposal stands:
 *
 * ```
 * open ──► merging ──► merged        enough approvals, then the commit that the branch has
 *  │ ▲        │
 *  │ └────────┘                      the base moved: rendered again as the next revision, approvals dropped
 *  ├──► rejected                     by a reviewer, or closed on its Git host
 *  ├──► superseded                   a newer intent of the object, or by hand
 *  └──► failed                       refused for good by the Git host, or merged as something else
 * ```
 */
export type ProposalState = 'open' | 'merging' | 'merged' | 'rejected' | 'superseded' | 'failed';

export interface ProposalRow {
  id: string;
  organization_id: string;
  cluster_id: string;
  repository_id: string;
  intent_id: string;
  state: ProposalState;
  /** Subject of its commit. */
  title: string;
  /** Without `refs/heads/`: `proposals/<slug>/<intent id>`. */
  branch: string;
  /** Who asked for the intent; never one who approves it. */
  author: string;
  /** JSON `BlobPin[]`: what the commit changes, from which blob to which, relative to the cluster's directory. */
  pins: string;
  /** JSON `RequiredApprovals`: at least so much as long as it is open, whatever its cluster asks for later. */
  required_approvals: string | null;
  /** Counts how often it was rendered; an approval is for one revision. */
  revision: number;
  base_commit: string | null;
  head_commit: string | null;
  /** The commit of the branch that brought it. */
  merged_commit: string | null;
  /** Of the pull or merge request on its Git host. */
  host_number: number | null;
  host_url: string | null;
  /** The revision that its text there was last brought up to. */
  host_revision: number | null;
  host_checked_at: string | null;
  /** When it was closed there because it was closed here. */
  host_closed_at: string | null;
  created_at: string;
  updated_at: string;
  closed_at: string | null;
  /** Why it is closed; while it merges, what its Git host waits for. */
  close_reason: string | null;
  /** When the branch of a closed one was deleted, or left to whoever pushed to it. */
  branch_settled_at: string | null;
}

export interface ProposalReviewRow {
  id: string;
  proposal_id: string;
  /** Of the proposal that was looked at. */
  revision: number;
  kind: 'approve' | 'reject' | 'comment';
  actor: string;
  /** JSON, the actor's roles at that time. */
  roles: string;
  /** Of the token that the actor came in with: an approval counts for as long as that one is there. */
  token_hash: string;
  comment: string | null;
  at: string;
  /** An approval that no longer counts: the proposal was rendered again. */
  dropped_at: string | null;
}

/** A key whose signature of a commit counts: the control plane's own, or a person's that an admin added. */
export interface CommitSigningKeyRow {
  id: string;
  organization_id: string;
  /** As in `allowed_signers` (ssh-keygen(1)): an e-mail address. */
  principal: string;
  /** `ssh-ed25519 AAAA…`. */
  public_key: string;
  /** Compact JWE under the master key; null for a person's key. */
  private_key_sealed: string | null;
  added_by: string | null;
  created_at: string;
  /** When a successor took over signing. It still verifies. */
  retired_at: string | null;
  /** From then on nothing that it signed is trusted, however old. */
  revoked_at: string | null;
  revoked_reason: string | null;
}
