export interface OrganizationRow {
  id: string;
  name: string;
  /** JSON: what its new clusters start with, and what holds for all of them; null: the defaults. */
  settings: string | null;
  /** JWK JSON of the key that `servicectl reseal` opens values with; its private half is never here. */
  recovery_public_key: string | null;
  created_at: string;
}

export interface AdminTokenRow {
  token_hash: string;
  organization_id: string;
  name: string;
  /** JSON list: what the bearer may approve as; null: none. */
  roles: string | null;
  created_at: string;
  expires_at: string | null;
  /** The member whose token it is; null or absent: a token of its own, whose name is the actor. */
  member?: string | null | undefined;
  /** JSON list of `AccessRole`; null or absent: `admin`. A member's token can do no more than the member. */
  access?: string | null | undefined;
  /** JSON list of `Scope`; null or absent: whatever its access allows. */
  scopes?: string | null | undefined;
  /** To the minute. */
  last_used_at?: string | null | undefined;
}

export interface RegistrationTokenRow {
  token_hash: string;
  cluster_id: string;
  created_by: string;
  created_at: string;
  expires_at: string;
  used_at: string | null;
}

export interface AgentCredentialRow {
  id: string;
  cluster_id: string;
  token_hash: string;
  issued_at: string;
  rotate_after: string;
  expires_at: string;
  first_used_at: string | null;
  /** When a request first came with this credential and the cluster's client certificate. */
  certified_at: string | null;
  revoked_at: string | null;
  /** When it was first rotated; `expires_at` is the end of the grace period from then on. */
  rotated_at: string | null;
  /** The credential that this one came from by rotation. */
  replaces: string | null;
  /** What it was issued for; null: a registration, before version 0.3. */
  origin: 'registration' | 'rotation' | 'recovery' | null;
}

export interface SigningKeyRow {
  kid: string;
  cluster_id: string;
  /** Compact JWE under the master key. */
  private_key_sealed: string;
  public_jwk: string;
  created_at: string;
  /** `kid` of the key that endorsed this one; null for a cluster's first. */
  predecessor: string | null;
  /** Compact JWS of the predecessor over this key. */
  endorsement: string | null;
  /** When a successor took over signing. It still verifies until it is revoked. */
  retired_at: string | null;
  revoked_at: string | null;
}

/** The authority that issues client certificates; one, made when first needed. */
export interface CertificateAuthorityRow {
  id: string;
  certificate: string;
  /** Compact JWE under the master key. */
  private_key_sealed: string;
  created_at: string;
  expires_at: string;
}

/** What is left of a cluster that was deleted: its slug is never used again, and its audit entries can be found by it. */
export interface DeletedClusterRow {
  id: string;
  organization_id: string;
  slug: string;
  deleted_at: string;
}
