import { sql, type Kysely, type RawBuilder } from 'kysely';
import type { ApplicationHealth } from './application-row.ts';
import type { ClusterReach, ClusterRow, Database } from './schema.ts';

export const CLUSTER_HEALTHS = ['healthy', 'progressing', 'degraded', 'unreachable', 'unknown'] as const;
export type ClusterHealth = (typeof CLUSTER_HEALTHS)[number];

/** What of a cluster's row says whether it can be reached, and whether its source works. */
type HealthColumns = Pick<
  ClusterRow,
  'status' | 'disabled_at' | 'revoked_at' | 'disconnected_at' | 'last_contact_at' | 'reported_fault' | 'delivery_held'
>;

/** Applications of a cluster. `ready` + `progressing` + `failed` = `total`. */
export interface ApplicationCounts {
  readonly total: number;
  readonly ready: number;
  readonly progressing: number;
  readonly failed: number;
}

export const NO_APPLICATIONS: ApplicationCounts = { total: 0, ready: 0, progressing: 0, failed: 0 };

/**
 * A cluster's health, the first that holds:
 *
 * ```
 * unknown      no operator has registered yet
 * unreachable  disabled, revoked, or silent (noted by the contact watch)
 * degraded     an application is degraded, or the operator cannot apply what its source holds
 * progressing  an application is on its way, or the cluster is held by a switch of its mode
 * healthy
 * ```
 *
 * `hasHealth` asks the database the same.
 */
export function healthOf(cluster: HealthColumns, { failed, progressing }: ApplicationCounts): ClusterHealth {
  const reach = reachOf(cluster);
  if (reach !== 'reached') return reach;
  if (failed > 0 || typeof cluster.reported_fault === 'string') return 'degraded';
  return progressing > 0 || cluster.delivery_held === 1 ? 'progressing' : 'healthy';
}

function reachOf(cluster: HealthColumns): ClusterReach {
  if (cluster.status === 'Pending' || cluster.last_contact_at === null) return 'unknown';
  if (cluster.disabled_at !== null || cluster.revoked_at !== null) return 'unreachable';
  const { disconnected_at: silent, last_contact_at: contact } = cluster;
  return silent !== null && contact <= silent ? 'unreachable' : 'reached';
}

/** The health of a cluster as the database tells it, for a row of `clusters`. */
export function healthSql(organizationId: string): RawBuilder<ClusterHealth> {
  return sql<ClusterHealth>`CASE
    WHEN clusters.reach <> 'reached' THEN clusters.reach
    WHEN ${isDegraded(organizationId)} THEN 'degraded'
    WHEN ${isProgressing(organizationId)} THEN 'progressing'
    ELSE 'healthy' END`;
}

/** Whether a cluster has that health: a range of clusters by reach, and of applications by health. */
export function hasHealth(organizationId: string, health: ClusterHealth): RawBuilder<boolean> {
  const [degraded, progressing] = [isDegraded(organizationId), isProgressing(organizationId)];
  switch (health) {
    case 'unknown':
    case 'unreachable':
      return sql<boolean>`clusters.reach = ${health}`;
    case 'degraded':
      return sql<boolean>`(clusters.reach = 'reached' AND ${degraded})`;
    case 'progressing':
      return sql<boolean>`(clusters.reach = 'reached' AND NOT ${degraded} AND ${progressing})`;
    case 'healthy':
      return sql<boolean>`(clusters.reach = 'reached' AND NOT ${degraded} AND NOT ${progressing})`;
  }
}

function isDegraded(organizationId: string): RawBuilder<boolean> {
  return sql<boolean>`(clusters.reported_fault IS NOT NULL OR ${hasApplication(organizationId, 'degraded')})`;
}

function isProgressing(organizationId: string): RawBuilder<boolean> {
  return sql<boolean>`(clusters.delivery_held = 1 OR ${hasApplication(organizationId, 'progressing')})`;
}

function hasApplication(organizationId: string, health: ApplicationHealth): RawBuilder<boolean> {
  return sql<boolean>`clusters.id IN (SELECT cluster_id FROM applications
    WHERE organization_id = ${organizationId} AND health = ${sql.lit(health)})`;
}

/** Of each of the clusters that has any, in one query. */
export async function applicationCounts(
  db: Kysely<Database>,
  clusterIds: readonly string[],
): Promise<ReadonlyMap<string, ApplicationCounts>> {
  if (clusterIds.length === 0) return new Map();
  const rows = await db
    .selectFrom('applications')
    .select(['cluster_id', 'health', (eb) => eb.fn.countAll<number | string>().as('count')])
    .where('cluster_id', 'in', clusterIds)
    .where('health', '<>', 'gone')
    .groupBy(['cluster_id', 'health'])
    .execute();
  return new Map(
    [...Map.groupBy(rows, ({ cluster_id: id }) => id)].map(([id, some]) => {
      const of = (health: ApplicationHealth): number => Number(some.find((row) => row.health === health)?.count ?? 0);
      const counts = { ready: of('healthy'), progressing: of('progressing'), failed: of('degraded') };
      return [id, { total: counts.ready + counts.progressing + counts.failed, ...counts }];
    }),
  );
}
