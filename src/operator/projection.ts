import type { AgentConfig } from '../protocol/agent-config.ts';
import type { ClusterPolicy } from '../reconcile/cluster-policy.ts';
import type { Cluster, ClusterStatus } from '../resources/cluster.ts';
import { PAUSED_ANNOTATION } from '../resources/labels.ts';

/** The part of `Cluster.status` that an answer of `/config` decides. */
export function projectionOf(config: AgentConfig, revision: string | undefined): Partial<ClusterStatus> {
  const [key] = config.signing_public_keys.keys;
  return {
    clusterId: config.cluster_id,
    connectivityMode: config.connectivity_mode,
    deliveryEpoch: config.delivery_epoch,
    allowedNamespaces: [...config.allowed_namespaces],
    catalogEntries: config.catalog_entries.map(({ entry, chart, versions }) => ({
      entry,
      chart: { ...chart },
      versions,
    })),
    operationTemplates: [...config.operation_templates],
    ...(key === undefined ? {} : { odooPublicKey: JSON.stringify(key) }),
    ...(revision === undefined ? {} : { configRevision: revision }),
  };
}

/**
 * What the control plane allows here, from the projection in `Cluster.status`; undefined until there was a first one. It
 * outlives restarts and outages of the control plane, so reconciliation does too.
 */
export function policyOf(status: ClusterStatus, cluster: Cluster): ClusterPolicy | undefined {
  const { clusterId, connectivityMode, deliveryEpoch } = status;
  if (clusterId === undefined || connectivityMode === undefined || deliveryEpoch === undefined) return undefined;
  return {
    clusterId,
    mode: connectivityMode,
    deliveryEpoch,
    allowedNamespaces: status.allowedNamespaces ?? [],
    catalogEntries: status.catalogEntries ?? [],
    operationTemplates: status.operationTemplates ?? [],
    paused: cluster.metadata.annotations?.[PAUSED_ANNOTATION] === 'true',
  };
}

/**
 * The security toggles in force: the control plane may tighten what the cluster's admin says, never loosen it (decisions,
 * "Register, rotate, config").
 */
export function securityOf(
  cluster: Cluster,
  projected: AgentConfig['security'] | undefined,
): { readonly requireSignedPayloads: boolean; readonly requireEncryptedSecretPayloads: boolean } {
  const own = cluster.spec.security;
  return {
    requireSignedPayloads: own?.requireSignedPayloads === true || projected?.requireSignedPayloads === true,
    requireEncryptedSecretPayloads:
      own?.requireEncryptedSecretPayloads === true || projected?.requireEncryptedSecretPayloads === true,
  };
}
