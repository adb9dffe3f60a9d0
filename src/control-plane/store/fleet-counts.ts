import { sql, type Kysely } from 'kysely';
import { healthSql, type ClusterHealth } from './cluster-health.ts';
import { withClusters, type ClusterFilter } from './cluster-lists.ts';
import { UNDECIDED } from './proposals.ts';
import type { ClusterRow, Database, IntentRow } from './schema.ts';
import { WAITING_STATES } from './waiting.ts';

/** So many clusters are alike in all of these. */
export interface FleetCount {
  readonly health: ClusterHealth;
  readonly mode: ClusterRow['connectivity_mode'];
  readonly status: ClusterRow['status'] | 'Disabled';
  /** Of the label that is grouped by; null: they have none, or nothing is grouped by. */
  readonly value: string | null;
  readonly count: number;
}

/** In one query, whatever there is. */
export async function countFleet(
  db: Kysely<Database>,
  filter: ClusterFilter,
  groupBy: string | undefined,
): Promise<FleetCount[]> {
  const value =
    groupBy === undefined
      ? sql<string | null>`NULL`
      : sql<string | null>`(SELECT value FROM cluster_labels WHERE cluster_id = clusters.id AND name = ${groupBy})`;
  const rows = await db
    .selectFrom((eb) =>
      withClusters(eb.selectFrom('clusters'), filter)
        .select('clusters.connectivity_mode as mode')
        .select([healthSql(filter.organizationId).as('health'), value.as('value')])
        .select(
          sql<FleetCount['status']>`CASE WHEN clusters.disabled_at IS NULL THEN clusters.status ELSE 'Disabled' END`.as(
            'status',
          ),
        )
        .as('fleet'),
    )
    .select(['health', 'mode', 'status', 'value', (eb) => eb.fn.countAll<number | string>().as('count')])
    .groupBy(['health', 'mode', 'status', 'value'])
    .execute();
  return rows.map((row) => ({ ...row, count: Number(row.count) }));
}

/** How many intents of the organization stand in each of the states in which somebody still waits. */
export async function countWaiting(
  db: Kysely<Database>,
  organizationId: string,
): Promise<ReadonlyMap<IntentRow['state'], number>> {
  const rows = await db
    .selectFrom('intents')
    .select(['state', (eb) => eb.fn.countAll<number | string>().as('count')])
    .where('organization_id', '=', organizationId)
    .where('state', 'in', WAITING_STATES)
    .groupBy('state')
    .execute();
  return new Map(rows.map(({ state, count }) => [state, Number(count)]));
}

/** What waits for people. */
export async function countUndecided(
  db: Kysely<Database>,
  organizationId: string,
): Promise<{ readonly approvals: number; readonly proposals: number }> {
  const { approvals } = await db
    .selectFrom('approvals')
    .select((eb) => eb.fn.countAll<number | string>().as('approvals'))
    .where('organization_id', '=', organizationId)
    .where('state', '=', 'pending')
    .executeTakeFirstOrThrow();
  const { proposals } = await db
    .selectFrom('proposals')
    .select((eb) => eb.fn.countAll<number | string>().as('proposals'))
    .where('organization_id', '=', organizationId)
    .where('state', 'in', UNDECIDED)
    .executeTakeFirstOrThrow();
  return { approvals: Number(approvals), proposals: Number(proposals) };
}
