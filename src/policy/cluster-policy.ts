import type { ProjectedCatalogEntry } from '../protocol/agent-config.ts';
import type { ConnectivityMode } from '../protocol/connectivity-mode.ts';
import type { OperationTemplateDefinition } from '../protocol/operation-template.ts';
import type { PublicJwk } from '../protocol/register.ts';

/** What needs an approval here, and approvals that came apart from what they approve. */
export interface ApprovalPolicy {
  readonly namespaces: readonly string[];
  readonly operationTemplates: readonly string[];
  readonly catalogEntries: readonly string[];
  readonly statements: readonly string[];
  /** `pendingName` of what was asked for here and was not approved, whatever is asked for since (default: nothing). */
  readonly pending?: readonly string[];
}

export const NO_APPROVALS: ApprovalPolicy = {
  namespaces: [],
  operationTemplates: [],
  catalogEntries: [],
  statements: [],
};

/**
 * What the control plane allows on this cluster, as it is projected into the `Cluster` resource, and the cluster admin's
 * own switch. Read anew at every decision, so a change reaches the next one.
 */
export interface ClusterPolicy {
  readonly clusterId: string;
  readonly mode: ConnectivityMode;
  readonly deliveryEpoch: number;
  /** False: the control plane tells no configuration, so nothing is allowed (default: it does). */
  readonly isProjected?: boolean;
  readonly allowedNamespaces: readonly string[];
  readonly catalogEntries: readonly ProjectedCatalogEntry[];
  readonly operationTemplates: readonly string[];
  /** Those of them that an admin made, and what an admin set of those that are built in (default: none). */
  readonly templateDefinitions?: readonly OperationTemplateDefinition[];
  /** Default: nothing needs one. */
  readonly approvals?: ApprovalPolicy;
  /** The control plane's keys whose signatures count here, the current one first; none before there was one. */
  readonly signingKeys: readonly PublicJwk[];
  /** What carries no signature of the control plane is refused. */
  readonly requireSignedPayloads: boolean;
  /** A job with chart values in the clear is refused. */
  readonly requireEncryptedSecretPayloads: boolean;
  /** `ops.service.io/paused: "true"` on the Cluster: no writes to applications at all. */
  readonly paused: boolean;
  /** Where the annotation stands, who set it, and how to go on; with `paused`. */
  readonly pause?: string;
}
