import type { Kysely } from 'kysely';
import { noteIntents, OF_CHANGED_INTENT } from './changes.ts';
import type { Database, IntentRow } from './schema.ts';

/** States in which an intent was delivered and has not come to an end. */
const UNDER_WAY: readonly IntentRow['state'][] = ['delivered', 'applied'];

/**
 * Back to `accepted`: the delivery loop makes another job of it. Its receipt goes with the job that it named; that job
 * itself stays for whoever asks.
 *
 * @returns whether it was under way
 */
export async function redeliverIntent(trx: Kysely<Database>, intentId: string, why: string): Promise<boolean> {
  const moved = await trx
    .updateTable('intents')
    .set({ state: 'accepted', delivered_at: null, reason: `delivered anew: ${why}` })
    .where('id', '=', intentId)
    .where('state', 'in', UNDER_WAY)
    // What is cancelled came, or comes, with its cancellation.
    .where((eb) =>
      eb.not(
        eb.exists(
          eb
            .selectFrom('intents as cancellation')
            .select('cancellation.id')
            .where('cancellation.cancels', '=', intentId)
            .where('cancellation.state', 'not in', ['failed', 'superseded']),
        ),
      ),
    )
    .returning(OF_CHANGED_INTENT)
    .execute();
  if (moved.length === 0) return false;
  noteIntents(trx, moved);
  await trx.deleteFrom('receipts').where('intent_id', '=', intentId).execute();
  return true;
}
