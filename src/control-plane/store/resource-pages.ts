import { sql, type Kysely } from 'kysely';
import type { Database, ResourceConditionRow } from './schema.ts';

/** Sort key of a resource in a cluster's list. */
export type ResourceKey = readonly [kind: string, namespace: string, name: string, uid: string];

/** A resource with its conditions as they were last reported. */
export interface ReportedResource {
  readonly key: ResourceKey;
  readonly conditions: readonly ResourceConditionRow[];
}

/** A cluster's reported resources by kind, namespace and name; at most `limit`, those after `after`. */
export async function listResources(
  db: Kysely<Database>,
  clusterId: string,
  page: { readonly limit: number; readonly after: ResourceKey | undefined },
): Promise<ReportedResource[]> {
  let query = db
    .selectFrom('resource_conditions')
    .select(['kind', 'namespace', 'name', 'uid'])
    .distinct()
    .where('cluster_id', '=', clusterId)
    .orderBy('kind')
    .orderBy('namespace')
    .orderBy('name')
    .orderBy('uid')
    .limit(page.limit);
  if (page.after !== undefined) {
    query = query.where(sql<boolean>`(kind, namespace, name, uid) > (${sql.join([...page.after])})`);
  }
  const resources = await query.execute();
  if (resources.length === 0) return [];
  const rows = await db
    .selectFrom('resource_conditions')
    .selectAll()
    .where('cluster_id', '=', clusterId)
    .where(
      'uid',
      'in',
      resources.map(({ uid }) => uid),
    )
    .orderBy('type')
    .execute();
  return resources.map(({ kind, namespace, name, uid }) => ({
    key: [kind, namespace, name, uid],
    conditions: rows.filter((row) => row.uid === uid),
  }));
}
