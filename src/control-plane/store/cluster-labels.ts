import type { Kysely } from 'kysely';
import type { ClusterRow, Database } from './schema.ts';

export type Labels = Readonly<Record<string, string>>;

export function labelsOf({ labels }: Pick<ClusterRow, 'labels'>): Labels {
  return typeof labels === 'string' ? (JSON.parse(labels) as Labels) : {};
}

/** As they are stored: sorted by name, so that equal labels are equal texts; null: none. */
export function labelsText(labels: Labels): string | null {
  const sorted = Object.entries(labels).sort(([a], [b]) => (a < b ? -1 : 1));
  return sorted.length === 0 ? null : JSON.stringify(Object.fromEntries(sorted));
}

/** Replaces what a cluster is found by. Call in the transaction that sets `clusters.labels`. */
export async function putClusterLabels(
  trx: Kysely<Database>,
  cluster: Pick<ClusterRow, 'id' | 'organization_id'>,
  labels: Labels,
): Promise<void> {
  await trx.deleteFrom('cluster_labels').where('cluster_id', '=', cluster.id).execute();
  const rows = Object.entries(labels).map(([name, value]) => ({
    organization_id: cluster.organization_id,
    cluster_id: cluster.id,
    name,
    value,
  }));
  if (rows.length > 0) await trx.insertInto('cluster_labels').values(rows).execute();
}
