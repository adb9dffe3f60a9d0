import { NO_APPROVALS, type ClusterPolicy } from '../policy/cluster-policy.ts';
import type { OperationTemplateDefinition } from '../protocol/operation-template.ts';
import { withoutCredentials } from '../protocol/chart.ts';
import { namesIn } from './cluster-settings.ts';
import type { StoredCatalogEntry } from './store/catalog-entries.ts';
import type { ClusterRow } from './store/schema.ts';

/**
 * What a cluster's operator will judge one intent by, as far as the control plane decides that. Signatures and approvals are
 * not part of it: they are added to what was judged.
 *
 * @param entry the catalog entry and `definition` the operation template that the intent names
 */
export function policyOfCluster(
  cluster: ClusterRow,
  entry: StoredCatalogEntry | undefined,
  definition: OperationTemplateDefinition | undefined,
): ClusterPolicy {
  const allowedEntries = namesIn(cluster.allowed_catalog_entries);
  const isAllowed = entry !== undefined && allowedEntries.includes(entry.name);
  return {
    clusterId: cluster.id,
    mode: cluster.connectivity_mode,
    deliveryEpoch: cluster.delivery_epoch,
    allowedNamespaces: namesIn(cluster.allowed_namespaces),
    catalogEntries: isAllowed
      ? [{ entry: entry.name, chart: withoutCredentials(entry.chart), versions: entry.versions }]
      : [],
    operationTemplates: namesIn(cluster.allowed_operation_templates),
    templateDefinitions: definition === undefined ? [] : [definition],
    approvals: NO_APPROVALS,
    signingKeys: [],
    requireSignedPayloads: false,
    requireEncryptedSecretPayloads: false,
    paused: false,
  };
}
