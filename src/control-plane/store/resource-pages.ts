import { sql, type Kysely } from 'kysely';
import { Reason } from '../../resources/reasons.ts';
import { reportedWhen } from './reported-when.ts';
import type { Database, ResourceConditionRow } from './schema.ts';

/** Sort key of a resource in a cluster's list. */
export type ResourceKey = readonly [kind: string, namespace: string, name: string, uid: string];

/** A resource with its conditions as they were last reported. */
export interface ReportedResource {
  readonly key: ResourceKey;
  readonly conditions: readonly ResourceConditionRow[];
}

/** `Ready=False` with one of these is the last that is heard of an object: it is not in the cluster any more. */
const GONE: readonly string[] = [Reason.Uninstalled, Reason.Orphaned];

/**
 * A cluster's reported resources by kind, namespace and name; at most `limit`, those after `after`. Of several that had one
 * name after each other the one reported last, and nothing where that one was reported gone.
 */
export async function listResources(
  db: Kysely<Database>,
  clusterId: string,
  page: { readonly limit: number; readonly after: ResourceKey | undefined },
): Promise<ReportedResource[]> {
  let query = db
    .selectFrom('resource_conditions as listed')
    .select(['kind', 'namespace', 'name', 'uid'])
    .distinct()
    .where('cluster_id', '=', clusterId)
    .where('uid', '=', (eb) =>
      eb
        .selectFrom('resource_conditions as newest')
        .select('newest.uid')
        .where('newest.cluster_id', '=', clusterId)
        .whereRef('newest.kind', '=', 'listed.kind')
        .whereRef('newest.namespace', '=', 'listed.namespace')
        .whereRef('newest.name', '=', 'listed.name')
        .orderBy(reportedWhen('newest'), 'desc')
        .orderBy('newest.updated_at', 'desc')
        .orderBy('newest.uid', 'desc')
        .limit(1),
    )
    .where((eb) =>
      eb.not(
        eb.exists(
          eb
            .selectFrom('resource_conditions as gone')
            .select('gone.uid')
            .where('gone.cluster_id', '=', clusterId)
            .whereRef('gone.uid', '=', 'listed.uid')
            .where('gone.type', '=', 'Ready')
            .where('gone.status', '=', 'False')
            .where('gone.reason', 'in', GONE),
        ),
      ),
    )
    .orderBy('kind')
    .orderBy('namespace')
    .orderBy('name')
    .limit(page.limit);
  if (page.after !== undefined) {
    // Without the UID: one that is made anew between two pages is not shown on both.
    const [kind, namespace, name] = page.after;
    query = query.where(sql<boolean>`(kind, namespace, name) > (${sql.join([kind, namespace, name])})`);
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
