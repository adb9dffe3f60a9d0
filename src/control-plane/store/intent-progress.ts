import { sql, type Kysely } from 'kysely';
import type { IntentMove, IntentSnapshot } from '../../events/ingest/ingest-store.ts';
import { moveIntents } from '../../events/ingest/move-intents.ts';
import { recentEventsAbout } from './events.ts';
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
    .select(['id', 'action', 'target_kind as kind', 'namespace', 'name', 'state'])
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

/**
 * Moves an intent whose receipt was just stored by what was reported of it before: the operator may have read Git before
 * the receipt was in the database, most of all when the control plane was killed in between.
 *
 * @param deliveryEpoch the cluster's
 */
export async function catchUpWithReports(
  trx: Kysely<Database>,
  clusterId: string,
  intentId: string,
  deliveryEpoch: number,
  at: string,
): Promise<void> {
  const [intent] = await findIntentSnapshots(trx, clusterId, [intentId]);
  if (intent === undefined) return;
  const events = await recentEventsAbout(trx, clusterId, intent);
  const moves = moveIntents([intent], events, deliveryEpoch);
  if (moves.length > 0) await moveIntentRows(trx, clusterId, at, moves);
}
