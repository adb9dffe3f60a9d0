import type { Generated } from 'kysely';

/** Somebody of an organization. `name` is the actor in audit and commits, whichever way he or she comes in. */
export interface MemberRow {
  organization_id: string;
  name: string;
  display_name: string | null;
  /** JSON list of `AccessRole`: what the member may do at all. */
  access: string;
  /** JSON list: what the member may approve as. */
  roles: string;
  /** Lower case. An identity provider's verified address binds its subject to the member at the first sign-in. */
  email: string | null;
  oidc_issuer: string | null;
  oidc_subject: string | null;
  disabled_at: string | null;
  last_seen_at: string | null;
  created_at: string;
  updated_at: string;
}

/** The first answer to a `POST` with an `Idempotency-Key`; without an answer yet: it is being carried out. */
export interface RequestAnswerRow {
  organization_id: string;
  actor: string;
  request_key: string;
  request_hash: string;
  /** Compact JWE under the master key of JSON `{status, body}`: an answer may hold a token that is shown once. */
  answer_sealed: string | null;
  answered_at: string | null;
  created_at: string;
}

/** That something changed, for those who watch. It says what to look at again, never what it is now. */
export interface ChangeRow {
  seq: Generated<number>;
  organization_id: string;
  at: string;
  resource: string;
  resource_id: string | null;
  cluster_id: string | null;
}

/** One of a cluster's labels, to be found by; `clusters.labels` holds the same as JSON. */
export interface ClusterLabelRow {
  organization_id: string;
  cluster_id: string;
  name: string;
  value: string;
}

/** A list's query under a name, somebody's own or shared with the organization. */
export interface SavedFilterRow {
  organization_id: string;
  owner: string;
  name: string;
  /** Which list: `clusters`, `intents`, … */
  list: string;
  query: string;
  shared: number;
  created_at: string;
  updated_at: string;
}
