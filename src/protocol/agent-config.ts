import { Type, type Static } from 'typebox';
import { ChartSource } from './chart.ts';
import { Timestamp } from './condition.ts';
import { ConnectivityMode } from './connectivity-mode.ts';
import { OperationTemplateDefinition } from './operation-template.ts';
import { JwkSet } from './register.ts';

/** A catalog entry as it is projected to a cluster: the whole of what the operator compares a chart with. */
export const ProjectedCatalogEntry = Type.Object({
  entry: Type.String(),
  chart: ChartSource,
  /** Allowed versions, a semver range. */
  versions: Type.String(),
});
export type ProjectedCatalogEntry = Static<typeof ProjectedCatalogEntry>;

export const Intervals = Type.Object({
  rotate_seconds: Type.Integer({ minimum: 60 }),
  heartbeat_seconds: Type.Integer({ minimum: 1 }),
  event_batch_ms: Type.Integer({ minimum: 1, maximum: 60000 }),
  event_batch_size: Type.Integer({ minimum: 1, maximum: 500 }),
});
export type Intervals = Static<typeof Intervals>;

/** Rotation weekly, heartbeat 60 s, batches of 100 events or 1 s (specification, "Limits"; decisions, "Events"). */
export const DEFAULT_INTERVALS: Intervals = {
  rotate_seconds: 604_800,
  heartbeat_seconds: 60,
  event_batch_ms: 1000,
  event_batch_size: 100,
};

/** User name and token for Git over HTTP; or a deploy key for Git over ssh, where the host's keys come with it. */
export const GitCredential = Type.Object({
  username: Type.String(),
  password: Type.String(),
  /** PEM. Only for an ssh address. */
  ssh_private_key: Type.Optional(Type.String({ maxLength: 32_768 })),
  /** Lines of `known_hosts`, the only keys that the host may show. */
  ssh_known_hosts: Type.Optional(Type.String({ maxLength: 32_768 })),
});
export type GitCredential = Static<typeof GitCredential>;

/** A line of `allowed_signers` (ssh-keygen(1)): whose signature of a commit counts. */
export const AllowedSigner = Type.Object({
  principal: Type.String({ maxLength: 256 }),
  /** `ssh-ed25519 AAAA…`. */
  public_key: Type.String({ maxLength: 1024 }),
});
export type AllowedSigner = Static<typeof AllowedSigner>;

/** When a prune is held until a person accepts it: more than `fraction` of the objects and more than `objects` of them, or all. */
export const PruneBreaker = Type.Object({
  fraction: Type.Number({ minimum: 0, maximum: 1 }),
  objects: Type.Integer({ minimum: 0, maximum: 100_000 }),
});
export type PruneBreaker = Static<typeof PruneBreaker>;

/** In gitops mode: where the operator reads, and what it should have applied. */
export const GitSourceConfig = Type.Object({
  url: Type.String(),
  branch: Type.String(),
  /** The cluster's own directory in the repository, without leading or trailing slash. */
  path: Type.String(),
  /** Git tree id of that directory as the control plane last saw it on the remote; absent before the first commit. */
  desired_revision: Type.Optional(Type.String()),
  /** `GitCredential` as compact JWE to the cluster's key (ECDH-ES, A256GCM). */
  credential_jwe: Type.Optional(Type.String()),
  /** The same in the clear: only for a cluster without a key, and only over TLS. */
  credential: Type.Optional(GitCredential),
  /** PEM roots of the Git host's certificate, in place of the system's; absent: those. */
  ca_certificate: Type.Optional(Type.String({ maxLength: 131_072 })),
  /** Commits that none of these signed are not read; absent: signatures are not looked at. */
  allowed_signers: Type.Optional(Type.Array(AllowedSigner, { maxItems: 200 })),
  /** The revision that is read whoever signed what led to it, as a person looked at it; of no other one. */
  trusted_revision: Type.Optional(Type.String()),
  /** Objects whose files vanished are deleted, behind the breaker; absent or false: they are kept and reported. */
  prune_on_removal: Type.Optional(Type.Boolean()),
  prune_breaker: Type.Optional(PruneBreaker),
  /** `<tree>@<digest>` of the removals that a person accepted, as the operator named them; of no others. */
  accepted_removals: Type.Optional(Type.String()),
});
export type GitSourceConfig = Static<typeof GitSourceConfig>;

/** Compact JWS (EdDSA, key `predecessor`) over the RFC 8785 form of the public JWK of key `kid`. */
export const SigningKeyEndorsement = Type.Object({
  kid: Type.String({ maxLength: 256 }),
  predecessor: Type.String({ maxLength: 256 }),
  jws: Type.String({ maxLength: 4096 }),
});
export type SigningKeyEndorsement = Static<typeof SigningKeyEndorsement>;

/** What runs or is installed here only with an approval, and the approvals that do not come with the object itself. */
export const ApprovalConfig = Type.Object({
  /** Everything in them. */
  namespaces: Type.Array(Type.String(), { maxItems: 1024 }),
  operation_templates: Type.Array(Type.String(), { maxItems: 1024 }),
  catalog_entries: Type.Array(Type.String(), { maxItems: 1024 }),
  /** Compact JWS each, of what was approved by merging its proposal; they are good as if they stood in the object. */
  statements: Type.Array(Type.String({ maxLength: 8192 }), { maxItems: 64 }),
  /** `<namespace>/<name>@<specHash>` of what may be in the cluster and was not approved; it needs an approval, whatever the lists say by now. */
  pending: Type.Optional(Type.Array(Type.String({ maxLength: 512 }), { maxItems: 256 })),
});
export type ApprovalConfig = Static<typeof ApprovalConfig>;

/** Answer of `GET /api/agent/config`: the projection that the operator writes into its `Cluster` resource. */
export const AgentConfig = Type.Object({
  cluster_id: Type.String(),
  allowed_namespaces: Type.Array(Type.String()),
  catalog_entries: Type.Array(ProjectedCatalogEntry),
  operation_templates: Type.Array(Type.String()),
  /** Those of them that an admin made, and what an admin set of those that are built in. */
  operation_template_definitions: Type.Optional(Type.Array(OperationTemplateDefinition, { maxItems: 256 })),
  approvals: Type.Optional(ApprovalConfig),
  connectivity_mode: ConnectivityMode,
  delivery_epoch: Type.Integer({ minimum: 1 }),
  intervals: Intervals,
  security: Type.Object({
    requireSignedPayloads: Type.Boolean(),
    requireEncryptedSecretPayloads: Type.Boolean(),
  }),
  /** The current key first, then those before it that still verify. */
  signing_public_keys: JwkSet,
  /** For each key but a cluster's first: what its predecessor signed, so that an operator that pinned that one may follow. */
  signing_key_endorsements: Type.Optional(Type.Array(SigningKeyEndorsement, { maxItems: 16 })),
  /** Of the credential that asks. `rotate_after` in the past asks for a rotation now. */
  credential: Type.Optional(Type.Object({ expires_at: Timestamp, rotate_after: Timestamp })),
  git: Type.Optional(GitSourceConfig),
  /** What an admin wants of the operator itself; absent: nothing. */
  operator: Type.Optional(Type.Object({ desired_version: Type.Optional(Type.String({ maxLength: 64 })) })),
});
export type AgentConfig = Static<typeof AgentConfig>;

/** Carried by every agent response, 204 included: the operator fetches `/config` when it changes. */
export const CONFIG_REVISION_HEADER = 'service-config-revision';
/** The control plane's own version, on every agent response. */
export const SERVICE_VERSION_HEADER = 'service-version';
export const SIGNATURE_HEADER = 'service-signature';
export const REQUEST_ID_HEADER = 'service-request-id';
