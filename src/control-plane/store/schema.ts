import type { JobRow, ReportedGenerationRow } from './job-rows.ts';
import type { ChannelMessageRow, ChannelOutboxRow, ChannelWebhookRow } from './channel-rows.ts';
import type {
  AdminTokenRow,
  AgentCredentialRow,
  CertificateAuthorityRow,
  DeletedClusterRow,
  OrganizationRow,
  RegistrationTokenRow,
  SigningKeyRow,
} from './identity-rows.ts';
import type { InstallationRow, LeaseRow } from './replica-rows.ts';
import type { ModeHandoverRow, ModeSwitchRow, PushCredentialRow } from './mode-rows.ts';
import type { ApprovalReviewRow, ApprovalRow, ChartVersionsRow, OperationTemplateRow } from './operation-rows.ts';
import type { AuditRow, EventRow, ResourceConditionRow } from './report-rows.ts';
import type { ApplicationRow, ClusterReach } from './application-row.ts';
import type { ChangeRow, ClusterLabelRow, MemberRow, RequestAnswerRow, SavedFilterRow } from './people-rows.ts';
import type { CommitSigningKeyRow, ProposalReviewRow, ProposalRow } from './review-rows.ts';

export type * from './application-row.ts';
export type * from './identity-rows.ts';
export type * from './job-rows.ts';
export type * from './mode-rows.ts';
export type * from './operation-rows.ts';
export type * from './people-rows.ts';
export type * from './report-rows.ts';
export type * from './review-rows.ts';

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
  reported_generations: ReportedGenerationRow;
  certificate_authorities: CertificateAuthorityRow;
  deleted_clusters: DeletedClusterRow;
  installation: InstallationRow;
  leases: LeaseRow;
  channel_messages: ChannelMessageRow;
  channel_webhooks: ChannelWebhookRow;
  channel_outbox: ChannelOutboxRow;
  proposals: ProposalRow;
  proposal_reviews: ProposalReviewRow;
  commit_signing_keys: CommitSigningKeyRow;
  push_credentials: PushCredentialRow;
  mode_switches: ModeSwitchRow;
  mode_handovers: ModeHandoverRow;
  operation_templates: OperationTemplateRow;
  approvals: ApprovalRow;
  approval_reviews: ApprovalReviewRow;
  chart_versions: ChartVersionsRow;
  members: MemberRow;
  request_answers: RequestAnswerRow;
  changes: ChangeRow;
  cluster_labels: ClusterLabelRow;
  saved_filters: SavedFilterRow;
  applications: ApplicationRow;
}

export interface ClusterRow {
  id: string;
  organization_id: string;
  slug: string;
  display_name: string;
  /** JSON name to value; null or absent: none. */
  labels?: string | null | undefined;
  /** Whether it can be reached, made by the database of status, contacts and what was done to it (`cluster-health.ts`). */
  reach?: ClusterReach | undefined;
  /** Why its operator last reported `Synced=False`; null or absent: it did not. */
  reported_fault?: string | null | undefined;
  status: 'Pending' | 'Active';
  disabled_at: string | null;
  connectivity_mode: 'pull' | 'push' | 'gitops';
  delivery_epoch: number;
  /** 1: nothing is delivered to it: a switch of its mode waits for the old way to end. */
  delivery_held: number;
  /** The highest epoch that its operator has reported to go by; null: none yet. */
  reported_epoch: number | null;
  /** Raised whenever the projection that `/config` answers changes. */
  config_revision: number;
  /** UID of the cluster's kube-system namespace, bound at first registration. */
  cluster_uid: string | null;
  /** JWK JSON. */
  public_key: string | null;
  allowed_namespaces: string;
  allowed_catalog_entries: string;
  allowed_operation_templates: string;
  /** JSON names of namespaces in which everything needs an approval; null: none. */
  approval_namespaces: string | null;
  /** JSON `{requireSignedPayloads, requireEncryptedSecretPayloads}`. */
  security: string;
  /** JSON `Intervals`: what holds for this cluster. */
  intervals: string;
  /** JSON, those of them that were set on this cluster; the others follow its organization. */
  own_intervals: string | null;
  repository_id: string | null;
  git_directory: string | null;
  /** JSON `GitSettings`: review, prune and signatures; null: the defaults. */
  git_settings: string | null;
  /** `<tree>@<digest>` of removals that a person accepted; null once they are used up or superseded. */
  accepted_removals: string | null;
  /** Tree id of `git_directory` that an admin vouched for: it is read whoever signed what led to it. */
  trusted_revision: string | null;
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
  /** 1: its writes need its client certificate; a signature is not enough. */
  require_client_certificate: number;
  last_contact_at: string | null;
  /** When the control plane noticed that it hears nothing any more; null while it does. */
  disconnected_at: string | null;
  registered_at: string | null;
  created_at: string;
}

export interface CatalogEntryRow {
  organization_id: string;
  name: string;
  chart: string;
  versions: string;
  default_values: string | null;
  values_schema: string | null;
  /** JSON `RequiredApprovals`; null: it is installed without. */
  approval: string | null;
  /** JSON `{message, replacement?}`; null: it is not deprecated. */
  deprecation: string | null;
  /** Compact JWE under the master key: how its versions are read. */
  credential_sealed: string | null;
  /** JSON: what of it may be shown. */
  credential_info: string | null;
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
  /** What kind of host another host is; null: the embedded one. */
  host: 'git' | 'github' | 'gitlab' | 'gitea' | null;
  /** JSON: address of its API, certificate roots, how it is logged in to. Nothing secret. */
  host_settings: string | null;
  /** Compact JWE under the master key: the credentials, the proxy's address, the webhook's secret. */
  credentials_sealed: string | null;
  /** JSON: kind and expiry of each credential, to be shown. */
  credential_info: string | null;
  /** JSON: what the last probe found, and when. */
  probe: string | null;
  /** JSON `LayoutMove`: to which layout it is being moved, until Git and the clusters' rows have it; null: not moving. */
  layout_move: string | null;
  /** JSON `LayoutMoved[]`, the oldest first: the commits with which the layout changed. */
  layout_history: string | null;
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
  /** JSON `RenderInputs` that it was first delivered with; null: not delivered yet, or before they were kept. */
  render_inputs: string | null;
  /** 1: it is not delivered before it is approved (`approvals`); null: nothing keeps it. */
  awaits_approval: number | null;
  /** Id of the intent whose operation this one cancels; null or absent: it cancels none. */
  cancels?: string | null | undefined;
  /** Of its record, set by `insertIntent`; null: an operation, or an uninstall. */
  catalog_entry?: string | null | undefined;
  /** Of its record likewise. */
  chart_version?: string | null | undefined;
  operation_template?: string | null | undefined;
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

/** What an `Idempotency-Key` header of `POST /clusters/{id}/intents` was first used for. */
export interface RequestKeyRow {
  cluster_id: string;
  request_key: string;
  /** SHA-256 of the canonical request, lower-case hex. */
  request_hash: string;
  intent_id: string;
  created_at: string;
}
