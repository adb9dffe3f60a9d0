import type { AgentConfig } from '../protocol/agent-config.ts';
import { NO_APPROVALS, type ClusterPolicy } from '../policy/cluster-policy.ts';
import { pauseOf } from '../reconcile/pause.ts';
import type { Cluster, ClusterStatus } from '../resources/cluster.ts';
import { acceptedKeys } from './signing-key-pins.ts';

/** The part of `Cluster.status` that an answer of `/config` decides by itself; which keys count is decided elsewhere. */
export function projectionOf(config: AgentConfig, revision: string | undefined): Partial<ClusterStatus> {
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
    operationTemplateDefinitions: config.operation_template_definitions ?? [],
    // A control plane of before there were approvals says nothing of them, and what was asked for stays asked for.
    ...(config.approvals === undefined ? {} : { approvals: approvalsOf(config.approvals) }),
    security: { ...config.security },
    ...(revision === undefined ? {} : { configRevision: revision }),
  };
}

function approvalsOf(approvals: NonNullable<AgentConfig['approvals']>): NonNullable<ClusterStatus['approvals']> {
  const {
    namespaces,
    operation_templates: operationTemplates,
    catalog_entries: catalogEntries,
    statements,
    pending,
  } = approvals;
  return { namespaces, operationTemplates, catalogEntries, statements, ...(pending && { pending }) };
}

/**
 * What the control plane allows here, from the projection in `Cluster.status`; undefined until there was a first one, or it
 * is known that there will be none. It outlives restarts and outages of the control plane, so reconciliation does too.
 */
export function policyOf(status: ClusterStatus, cluster: Cluster): ClusterPolicy | undefined {
  const { clusterId, connectivityMode, deliveryEpoch } = status;
  if (clusterId === undefined || connectivityMode === undefined) return undefined;
  const pause = pauseOf(cluster);
  return {
    clusterId,
    mode: connectivityMode,
    deliveryEpoch: deliveryEpoch ?? 0,
    ...(deliveryEpoch === undefined ? { isProjected: false } : {}),
    allowedNamespaces: status.allowedNamespaces ?? [],
    catalogEntries: status.catalogEntries ?? [],
    operationTemplates: status.operationTemplates ?? [],
    templateDefinitions: status.operationTemplateDefinitions ?? [],
    approvals: status.approvals ?? NO_APPROVALS,
    signingKeys: acceptedKeys(status),
    ...securityOf(cluster, status.security),
    paused: pause !== undefined,
    ...(pause === undefined ? {} : { pause }),
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
