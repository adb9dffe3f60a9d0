import { sql, type Kysely } from 'kysely';
import type { ClusterRow, Database, IntentRow } from './schema.ts';
import { WAITING } from './waiting-reasons.ts';

/** States in which somebody still waits for something. */
export const WAITING_STATES = ['accepted', 'proposed', 'delivered', 'applied'] as const satisfies IntentRow['state'][];

/** What of an intent tells what it waits for. */
type WaitingIntent = Pick<
  IntentRow,
  'id' | 'cluster_id' | 'target_kind' | 'state' | 'reason' | 'generation' | 'awaits_approval' | 'accepted_at'
>;

/** What a cluster waits for: how many intents, and which has waited longest. */
export interface Waiting {
  readonly count: number;
  readonly oldest: WaitingIntent;
}

/** Of each of the clusters that waits for anything, in one query. */
export async function waitingOf(
  db: Kysely<Database>,
  clusterIds: readonly string[],
): Promise<ReadonlyMap<string, Waiting>> {
  if (clusterIds.length === 0) return new Map();
  const columns = ['id', 'cluster_id', 'target_kind', 'state', 'reason', 'generation', 'awaits_approval'] as const;
  const rows = await db
    .selectFrom((eb) =>
      eb
        .selectFrom('intents')
        .select([...columns, 'accepted_at'])
        .select(sql<number>`row_number() OVER (PARTITION BY cluster_id ORDER BY accepted_at, id)`.as('place'))
        .select(sql<number | string>`count(*) OVER (PARTITION BY cluster_id)`.as('count'))
        .where('state', 'in', WAITING_STATES)
        .where('cluster_id', 'in', clusterIds)
        .as('waiting'),
    )
    .select([...columns, 'accepted_at', 'count'])
    .where('place', '=', 1)
    .execute();
  return new Map(rows.map(({ count, ...oldest }) => [oldest.cluster_id, { count: Number(count), oldest }]));
}

/** In plain words, as the end of "it …". */
export function waitingText(
  intent: Omit<WaitingIntent, 'id' | 'cluster_id' | 'accepted_at'>,
  cluster: Pick<ClusterRow, 'status' | 'disabled_at' | 'delivery_held'>,
): string {
  const { state, reason, generation, target_kind: kind } = intent;
  if (state === 'proposed') return 'waits for a review';
  if (state === 'delivered') return `waits for the operator at generation ${generation}`;
  if (state === 'applied') {
    return kind === 'Operation' ? 'waits for the operation to end' : `waits for generation ${generation} to be ready`;
  }
  if (intent.awaits_approval === 1) return 'waits for an approval';
  if (cluster.delivery_held === 1) return 'held by a mode switch';
  if (cluster.disabled_at !== null) return 'waits for the cluster to be enabled';
  if (cluster.status === 'Pending') return 'waits for the operator to register';
  if (reason?.startsWith(WAITING) === true) return `waits to be delivered: ${reason.slice(WAITING.length)}`;
  return 'waits to be delivered';
}
