import { sql, type Kysely } from 'kysely';
import type { IntentMove, IntentSnapshot } from '../../events/ingest/ingest-store.ts';
import type { Database } from './schema.ts';

/** Ids in one query: a post has at most 500 events, and SQLite's limit of variables is far above. */
export async function findIntentSnapshots(
  trx: Kysely<Database>,
  clusterId: string,
  ids: readonly string[],
): Promise<IntentSnapshot[]> {
  if (ids.length === 0) return [];
  return await trx
    .selectFrom('intents')
    .select(['id', 'action', 'state'])
    .where('cluster_id', '=', clusterId)
    .where('id', 'in', ids)
    .execute();
}

/**
 * Writes what the cluster's reports made of its intents. Anything seen in the cluster was applied, so the first move sets
 * `applied_at` too.
 */
export async function moveIntentRows(
  trx: Kysely<Database>,
  clusterId: string,
  at: string,
  moves: readonly IntentMove[],
): Promise<void> {
  for (const { id, state, reason } of moves) {
    await trx
      .updateTable('intents')
      .set({ state, reason: reason ?? null, applied_at: sql<string>`coalesce(applied_at, ${at})` })
      .$if(state === 'ready', (query) => query.set({ ready_at: at }))
      .where('cluster_id', '=', clusterId)
      .where('id', '=', id)
      .execute();
  }
}
