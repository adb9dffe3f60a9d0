import type { Generated } from 'kysely';

/**
 * The database, one interface a table. Portable between SQLite and PostgreSQL: times are RFC 3339 UTC with milliseconds
 * (they sort as text), structured values are JSON text, booleans are 0 and 1.
 */
export interface Database {
  organizations: OrganizationRow;
  admin_tokens: AdminTokenRow;
  clusters: ClusterRow;
  registration_tokens: RegistrationTokenRow;
  agent_credentials: AgentCredentialRow;
  signing_keys: SigningKeyRow;
  catalog_entries: CatalogEntryRow;
  repositories: RepositoryRow;
  git_credentials: GitCredentialRow;
  intents: IntentRow;
  receipts: ReceiptRow;
  events: EventRow;
  resource_conditions: ResourceConditionRow;
  audit: AuditRow;
  request_keys: RequestKeyRow;
  jobs: JobRow;
  certificate_authorities: CertificateAuthorityRow;
  channel_messages: ChannelMessageRow;
  channel_webhooks: ChannelWebhookRow;
  channel_outbox: ChannelOutboxRow;
}

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
  created_at: string;
  expires_at: string | null;
}

export interface ClusterRow {
  id: string;
  organization_id: string;
  slug: string;
  display_name: string;
  status: 'Pending' | 'Active';
  disabled_at: string | null;
  connectivity_mode: 'pull' | 'push' | 'gitops';
  delivery_epoch: number;
  /** Raised whenever the projection that `/config` answers changes. */
  config_revision: number;
  /** UID of the cluster's kube-system namespace, bound at first registration. */
  cluster_uid: string | null;
  /** JWK JSON. */
  public_key: string | null;
  allowed_namespaces: string;
  allowed_catalog_entries: string;
  allowed_operation_templates: string;
  /** JSON `{requireSignedPayloads, requireEncryptedSecretPayloads}`. */
  security: string;
  /** JSON `Intervals`. */
  intervals: string;
  repository_id: string | null;
  git_directory: string | null;
  /** Tree id of `git_directory` at the remote's tip. */
  desired_revision: string | null;
  applied_revision: string | null;
  operator_version: string | null;
  /** The version that an admin wants the operator to run. */
  desired_operator_version: string | null;
  /** Set by an admin's revocation, cleared by a registration: until then nothing is recovered. */
  revoked_at: string | null;
  /** 1: intents are delivered as jobs of kind `intent`. */
  deliver_intents: number;
  last_contact_at: string | null;
  registered_at: string | null;
  created_at: string;
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
  revoked_at: string | null;
  /** When it was first rotated: it is accepted for the grace period from then on. */
  rotated_at: string | null;
  /** The credential that this one came from by rotation. */
  replaces: string | null;
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

export type JobState = 'pending' | 'delivered' | 'acknowledged' | 'closed';

export interface JobRow {
  id: string;
  cluster_id: string;
  intent_id: string;
  kind: 'apply' | 'delete' | 'intent';
  /** The object that it is about. */
  target_kind: string;
  namespace: string;
  name: string;
  generation: number;
  delivery_epoch: number;
  idempotency_key: string;
  /** JSON, in the clear: it holds no secret but sealed ones. Signed and encrypted as it is handed out. */
  payload: string;
  state: JobState;
  created_at: string;
  expires_at: string;
  delivered_at: string | null;
  acknowledged_at: string | null;
  closed_at: string | null;
  phase: string | null;
  status_message: string | null;
  /** JSON array of conditions. */
  status_conditions: string | null;
  status_at: string | null;
  outcome: 'succeeded' | 'failed' | 'noop' | 'conflict' | null;
  error: string | null;
  /** JSON `ResourceRef`. */
  applied_ref: string | null;
}

/** One message of an organization's discussion channel. */
export interface ChannelMessageRow {
  id: Generated<number>;
  organization_id: string;
  at: string;
  cluster_id: string | null;
  category: 'deploy' | 'backup' | 'credential';
  reason: string;
  text: string;
  /** JSON `ResourceRef`. */
  resource_ref: string | null;
  event_seq: number | null;
}

/** Where an organization's channel is also sent. Address and key are secrets. */
export interface ChannelWebhookRow {
  id: string;
  organization_id: string;
  name: string;
  url_sealed: string;
  secret_sealed: string;
  created_by: string;
  created_at: string;
  disabled_at: string | null;
  /** Why it was given up, for people. */
  disabled_reason: string | null;
}

/** What is still to be sent; a row goes when it was taken. */
export interface ChannelOutboxRow {
  id: Generated<number>;
  webhook_id: string;
  message_id: number;
  attempts: number;
  next_at: string;
  last_error: string | null;
}

export interface CatalogEntryRow {
  organization_id: string;
  name: string;
  chart: string;
  versions: string;
  default_values: string | null;
  values_schema: string | null;
  approval: string | null;
  updated_at: string;
}

export interface RepositoryRow {
  id: string;
  organization_id: string;
  /** Unique over the control plane: the embedded host serves it at `/git/<name>.git`. */
  name: string;
  url: string;
  branch: string;
  layout: 'flat' | 'sharded';
  /** 1: a bare repository of the embedded host. */
  embedded: number;
  created_at: string;
}

export interface GitCredentialRow {
  id: string;
  token_hash: string;
  repository_id: string;
  access: 'read' | 'write';
  /** Read: the cluster it is for, or null for a person. */
  cluster_id: string | null;
  /** Write: JSON `[{clusterId, directory}]`, the only directories a push may touch. */
  scope: string | null;
  /** Read credentials are handed out again: compact JWE under the master key. */
  token_sealed: string | null;
  created_at: string;
  expires_at: string;
  revoked_at: string | null;
}

export type IntentState =
  | 'accepted'
  | 'proposed'
  | 'delivered'
  | 'applied'
  | 'ready'
  | 'failed'
  | 'superseded'
  | 'removed';

export interface IntentRow {
  id: string;
  organization_id: string;
  cluster_id: string;
  /** `ApplicationInstance` or `Operation`. */
  target_kind: string;
  namespace: string;
  name: string;
  generation: number;
  action: 'install' | 'update' | 'uninstall' | 'operate';
  /** JSON `IntentRecord`. */
  record: string;
  idempotency_key: string;
  state: IntentState;
  reason: string | null;
  requested_by: string;
  /** The secret values, sealed to the organization's recovery key as well (compact JWE). */
  recovery_values: string | null;
  accepted_at: string;
  delivered_at: string | null;
  applied_at: string | null;
  ready_at: string | null;
}

export interface ReceiptRow {
  intent_id: string;
  mode: 'pull' | 'push' | 'gitops';
  commit_id: string | null;
  job_id: string | null;
  field_manager: string | null;
  at: string;
}

export interface EventRow {
  seq: Generated<number>;
  cluster_id: string;
  event_key: string;
  /** Tells a replay from another event under the same key: SHA-256 of each condition's transition time, reason, message. */
  fingerprint: string;
  kind: string;
  resource_ref: string;
  conditions: string;
  timestamp: string | null;
  sequence: string | null;
  source: string | null;
  received_at: string;
}

/** Current status: the fold of all events per resource uid and condition type. */
export interface ResourceConditionRow {
  cluster_id: string;
  uid: string;
  type: string;
  api_version: string;
  kind: string;
  namespace: string;
  name: string;
  status: string;
  reason: string | null;
  message: string | null;
  last_transition_time: string | null;
  generation: number | null;
  /** Sortable form of the event's `sequence`, or of (generation, transition time, timestamp) without one. */
  order_key: string;
  source: string | null;
  updated_at: string;
}

export interface AuditRow {
  id: Generated<number>;
  organization_id: string;
  at: string;
  source: 'agent' | 'user';
  kind: string;
  cluster_id: string | null;
  actor: string | null;
  summary: string;
  reason: string | null;
  event_seq: number | null;
}

/** What an `Idempotency-Key` header of `POST /clusters/{id}/intents` was first used for. */
export interface RequestKeyRow {
  cluster_id: string;
  request_key: string;
  /** SHA-256 of the canonical request, lower-case hex. */
  request_hash: string;
  intent_id: string;
  created_at: string;
}
