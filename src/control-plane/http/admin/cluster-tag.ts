import type { ClusterRow } from '../../store/schema.ts';

/** What can be edited of a cluster: for its tag (`entity-tag.ts`). */
export function editableOf(row: ClusterRow): Readonly<Record<string, unknown>> {
  return {
    id: row.id,
    displayName: row.display_name,
    labels: row.labels ?? null,
    allowedNamespaces: row.allowed_namespaces,
    allowedCatalogEntries: row.allowed_catalog_entries,
    allowedOperationTemplates: row.allowed_operation_templates,
    approvalNamespaces: row.approval_namespaces,
    security: row.security,
    intervals: row.own_intervals,
    git: row.git_settings,
    deliverIntents: row.deliver_intents,
    requireClientCertificate: row.require_client_certificate,
    operatorVersion: row.desired_operator_version,
    disabledAt: row.disabled_at,
  };
}
