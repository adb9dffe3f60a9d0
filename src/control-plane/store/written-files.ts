import type { Kysely } from 'kysely';
import { noteIntents, noteRows, OF_CHANGED, OF_CHANGED_INTENT } from './changes.ts';
import type { Database, IntentRow } from './schema.ts';

/**
 * States of an intent with a receipt whose manifest or tombstone a repository must hold. `failed` too: what went wrong
 * after the delivery (it is Degraded, say) takes nothing out of Git. One that was refused has no receipt.
 */
const HELD: readonly IntentRow['state'][] = ['delivered', 'applied', 'ready', 'removed', 'failed'];

/** The newest intent that was delivered by Git for an object, with the commit of its receipt. */
export type WrittenIntent = Pick<
  IntentRow,
  'id' | 'organization_id' | 'cluster_id' | 'target_kind' | 'namespace' | 'name' | 'action'
> & { readonly commit: string };

/**
 * Of each object of the clusters what Git must hold of it; nothing where a newer intent waits for delivery. What a switch of
 * mode has brought to Git once more stands as the switch brought it; what it has yet to bring may be anything.
 *
 * @param removedSince an older removal's tombstone may have had its time
 */
export async function writtenIntents(
  db: Kysely<Database>,
  clusterIds: readonly string[],
  removedSince: string,
): Promise<WrittenIntent[]> {
  if (clusterIds.length === 0) return [];
  const rows = await newestHeld(db, clusterIds)
    .innerJoin('receipts', 'receipts.intent_id', 'intents.id')
    .select((eb) => [eb.ref('receipts.commit_id').$notNull().as('commit'), 'receipts.at'])
    .where('receipts.mode', '=', 'gitops')
    .where('receipts.commit_id', 'is not', null)
    .where((eb) => eb.or([eb('action', '!=', 'uninstall'), eb('receipts.at', '>=', removedSince)]))
    .execute();
  const since = await presentStays(db, clusterIds);
  // What an earlier stay left may be of another repository, or be meant to go.
  const ofThisStay = rows.filter((row) => row.at >= (since.get(row.cluster_id) ?? ''));
  const written = new Map(ofThisStay.map((row) => [row.id, row]));
  const handed = await newestHeld(db, clusterIds)
    .innerJoin('mode_handovers as handover', 'handover.intent_id', 'intents.id')
    .innerJoin('clusters', 'clusters.id', 'intents.cluster_id')
    .select(['handover.state as handoverState', 'handover.receipt', 'handover.epoch', 'clusters.delivery_epoch'])
    .select((eb) => eb.fn.coalesce('handover.delivered_at', eb.val('')).as('at'))
    .where((eb) => eb.or([eb('handover.receipt', 'like', '%"commit":%'), eb('handover.state', '=', 'pending')]))
    .where((eb) => eb.or([eb('intents.action', '!=', 'uninstall'), eb('intents.accepted_at', '>=', removedSince)]))
    .orderBy('handover.epoch')
    .execute();
  for (const { handoverState, receipt, epoch, delivery_epoch: present, at, ...intent } of handed) {
    if (handoverState === 'pending' && epoch === present) written.delete(intent.id);
    const { commit } = JSON.parse(receipt ?? '{}') as { readonly commit?: string };
    if (commit === undefined || at < (since.get(intent.cluster_id) ?? '')) continue;
    // Delivered anew since, because the repository had lost it.
    if ((written.get(intent.id)?.at ?? '') > at) continue;
    written.set(intent.id, { ...intent, commit, at });
  }
  return [...written.values()].map(({ at: _at, ...intent }) => intent);
}

/** Since when clusters are in the mode that they are in, of those that were ever switched. */
async function presentStays(db: Kysely<Database>, clusterIds: readonly string[]): Promise<Map<string, string>> {
  const rows = await db
    .selectFrom('mode_switches')
    .select('cluster_id')
    .select((eb) => eb.fn.max('requested_at').as('since'))
    .where('cluster_id', 'in', clusterIds)
    .where('epoch', 'is not', null)
    .groupBy('cluster_id')
    .execute();
  return new Map(rows.map((row) => [row.cluster_id, row.since]));
}

/** The newest intent of each object that has come so far that Git must hold it. */
function newestHeld(db: Kysely<Database>, clusterIds: readonly string[]) {
  return db
    .selectFrom('intents')
    .select(['intents.id', 'intents.organization_id', 'intents.cluster_id'])
    .select(['intents.target_kind', 'intents.namespace', 'intents.name', 'intents.action'])
    .where('intents.cluster_id', 'in', clusterIds)
    .where('intents.state', 'in', HELD)
    .where((eb) =>
      eb.not(
        eb.exists(
          eb
            .selectFrom('intents as newer')
            .leftJoin('receipts as its', 'its.intent_id', 'newer.id')
            .select('newer.id')
            .whereRef('newer.cluster_id', '=', 'intents.cluster_id')
            .whereRef('newer.target_kind', '=', 'intents.target_kind')
            .whereRef('newer.namespace', '=', 'intents.namespace')
            .whereRef('newer.name', '=', 'intents.name')
            .whereRef('newer.generation', '>', 'intents.generation')
            .where((of) =>
              of.or([
                of('newer.state', '=', 'accepted'),
                of.and([of('newer.state', 'in', HELD), of('its.intent_id', 'is not', null)]),
              ]),
            ),
        ),
      ),
    );
}

/**
 * Has intents delivered once more: the repository does not hold them any more. Their receipts go, since they name what is
 * not there. What was merged after a review is merged again as it was approved, or proposed anew where it means something
 * else by now.
 *
 * @returns those that nobody has moved on since they were read
 */
export async function deliverAgain(
  trx: Kysely<Database>,
  intents: readonly WrittenIntent[],
): Promise<readonly WrittenIntent[]> {
  const again: WrittenIntent[] = [];
  for (const intent of intents) {
    const moved = await trx
      .updateTable('intents')
      .set({ state: 'accepted', reason: null, delivered_at: null, applied_at: null, ready_at: null })
      .where('id', '=', intent.id)
      .where('state', 'in', HELD)
      // Refused in the meantime, it is not tried again.
      .where('id', 'in', (eb) => eb.selectFrom('receipts').select('intent_id').where('intent_id', '=', intent.id))
      .returning(OF_CHANGED_INTENT)
      .execute();
    if (moved.length === 0) continue;
    noteIntents(trx, moved);
    await trx.deleteFrom('receipts').where('intent_id', '=', intent.id).execute();
    const proposals = await trx
      .updateTable('proposals')
      .set({ state: 'merging', merged_commit: null, closed_at: null, close_reason: null, branch_settled_at: null })
      .where('intent_id', '=', intent.id)
      .where('state', '=', 'merged')
      .returning(OF_CHANGED)
      .execute();
    noteRows(trx, 'proposals', proposals);
    again.push(intent);
  }
  return again;
}
