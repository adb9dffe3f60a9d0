import type { Kysely } from 'kysely';
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
 * Of each object of the clusters what Git must hold of it; nothing where a newer intent waits for delivery.
 *
 * @param removedSince an older removal's tombstone may have had its time
 */
export async function writtenIntents(
  db: Kysely<Database>,
  clusterIds: readonly string[],
  removedSince: string,
): Promise<WrittenIntent[]> {
  if (clusterIds.length === 0) return [];
  return await db
    .selectFrom('intents')
    .innerJoin('receipts', 'receipts.intent_id', 'intents.id')
    .select(['intents.id', 'organization_id', 'cluster_id', 'target_kind', 'namespace', 'name', 'action'])
    .select((eb) => eb.ref('receipts.commit_id').$notNull().as('commit'))
    .where('cluster_id', 'in', clusterIds)
    .where('intents.state', 'in', HELD)
    .where('receipts.mode', '=', 'gitops')
    .where('receipts.commit_id', 'is not', null)
    .where((eb) => eb.or([eb('action', '!=', 'uninstall'), eb('receipts.at', '>=', removedSince)]))
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
    )
    .execute();
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
    const { numUpdatedRows } = await trx
      .updateTable('intents')
      .set({ state: 'accepted', reason: null, delivered_at: null, applied_at: null, ready_at: null })
      .where('id', '=', intent.id)
      .where('state', 'in', HELD)
      // Refused in the meantime, it is not tried again.
      .where('id', 'in', (eb) => eb.selectFrom('receipts').select('intent_id').where('intent_id', '=', intent.id))
      .executeTakeFirst();
    if (numUpdatedRows === 0n) continue;
    await trx.deleteFrom('receipts').where('intent_id', '=', intent.id).execute();
    await trx
      .updateTable('proposals')
      .set({ state: 'merging', merged_commit: null, closed_at: null, close_reason: null, branch_settled_at: null })
      .where('intent_id', '=', intent.id)
      .where('state', '=', 'merged')
      .execute();
    again.push(intent);
  }
  return again;
}
