import type { Kysely } from 'kysely';
import type { Receipt } from '../../delivery/delivery.ts';
import { SUPERSEDED } from '../../delivery/refusal-reasons.ts';
import { OPERATION_KIND } from '../../resources/operation.ts';
import { setDesiredRevision } from './clusters.ts';
import { catchUpWithReports, endAbsent, noteApplied } from './intent-progress.ts';
import { dropOvertakenHandovers, markHandedOver } from './mode-handovers.ts';
import { hasNewerDelivered } from './intents.ts';
import type { ClusterRow, Database, IntentRow } from './schema.ts';
import { noteIntents, OF_CHANGED_INTENT } from './changes.ts';
import { withoutWaiting } from './waiting-reasons.ts';

/** States that a newer intent of the same object overtakes: nobody will bring these about any more. */
const OVERTAKEN: readonly IntentRow['state'][] = ['accepted', 'proposed', 'delivered', 'applied'];

/** Enough of an intent to find its object and its cluster. */
export type DeliveredIntent = Pick<
  IntentRow,
  'id' | 'cluster_id' | 'target_kind' | 'namespace' | 'name' | 'generation'
> &
  Pick<ClusterRow, 'delivery_epoch'> & {
    /** JSON `RenderInputs` that it was rendered with; absent where somebody else brought it. */
    readonly render_inputs?: string | null;
  };

/**
 * Stores a final receipt with all that follows from it: the intent's state, older intents of the object superseded, and
 * the revision that the operator must reach. Storing one twice changes nothing.
 *
 * @returns whether the cluster's `/config` changed: then its topic is to be notified after the commit
 */
export async function storeReceipt(
  trx: Kysely<Database>,
  intent: DeliveredIntent,
  receipt: Extract<Receipt, { state: 'delivered' | 'refused' }>,
  at: string,
): Promise<boolean> {
  if (receipt.state === 'refused') {
    const refused = await trx
      .updateTable('intents')
      .set({
        state: receipt.reason === SUPERSEDED ? 'superseded' : 'failed',
        reason: `${receipt.reason}: ${receipt.message}`,
      })
      .where('id', '=', intent.id)
      .where('state', '=', 'accepted')
      .returning(OF_CHANGED_INTENT)
      .execute();
    noteIntents(trx, refused);
    return false;
  }
  await trx
    .insertInto('receipts')
    .values({
      intent_id: intent.id,
      mode: receipt.mode,
      commit_id: receipt.commit ?? null,
      job_id: receipt.jobId ?? null,
      field_manager: receipt.fieldManager ?? null,
      at,
    })
    .onConflict((conflict) => conflict.doNothing())
    .execute();
  const inputs = intent.render_inputs;
  const delivered = await trx
    .updateTable('intents')
    .set({ delivered_at: at, state: 'delivered', reason: withoutWaiting() })
    // Delivered once more, by another way, it is then the same whatever became of its catalog entry.
    .$if(typeof inputs === 'string', (query) => query.set({ render_inputs: inputs ?? null }))
    .where('id', '=', intent.id)
    // Proposed: somebody else brought it to the branch, a Git host or a person.
    .where('state', 'in', ['accepted', 'proposed'])
    .returning(OF_CHANGED_INTENT)
    .execute();
  // Its proposal was closed here, and merged all the same. What was delivered after it stands above it.
  const brought = await trx
    .updateTable('intents')
    .set({ delivered_at: at, state: (await hasNewerDelivered(trx, intent)) ? 'superseded' : 'delivered', reason: null })
    .where('id', '=', intent.id)
    .where('state', 'in', ['failed', 'superseded'])
    .where('delivered_at', 'is', null)
    .returning(OF_CHANGED_INTENT)
    .execute();
  if (receipt.mode === 'push') await noteApplied(trx, intent.id, at);
  const cancels = await bringCancelled(trx, intent, at);
  await catchUpWithReports(trx, intent.cluster_id, intent.id, intent.delivery_epoch, at);
  if (receipt.isAbsent === true) await endAbsent(trx, intent.id);
  const overtaken = await trx
    .updateTable('intents')
    .set({ state: 'superseded', reason: withoutWaiting() })
    .$if(cancels !== null, (query) => query.where('id', '!=', cancels ?? ''))
    .where('cluster_id', '=', intent.cluster_id)
    .where('target_kind', '=', intent.target_kind)
    .where('namespace', '=', intent.namespace)
    .where('name', '=', intent.name)
    .where('generation', '<', intent.generation)
    .where('state', 'in', OVERTAKEN)
    .returning(OF_CHANGED_INTENT)
    .execute();
  noteIntents(trx, [...delivered, ...brought, ...overtaken]);
  await markHandedOver(trx, intent, receipt, at);
  await dropOvertakenHandovers(trx, intent);
  return receipt.revision === undefined ? false : await setDesiredRevision(trx, intent.cluster_id, receipt.revision);
}

/**
 * A cancellation holds all of the operation that it cancels. Where that one had not come to the cluster by itself, it came
 * with this, and ends as the cluster tells.
 *
 * @returns the id of the intent that is cancelled, which is not overtaken; null where this one cancels nothing
 */
async function bringCancelled(trx: Kysely<Database>, intent: DeliveredIntent, at: string): Promise<string | null> {
  if (intent.target_kind !== OPERATION_KIND) return null;
  const row = await trx.selectFrom('intents').select('cancels').where('id', '=', intent.id).executeTakeFirst();
  const cancels = row?.cancels ?? null;
  if (cancels === null) return null;
  const brought = await trx
    .updateTable('intents')
    .set({ state: 'delivered', delivered_at: at, reason: withoutWaiting() })
    .where('id', '=', cancels)
    .where('state', '=', 'accepted')
    .returning(OF_CHANGED_INTENT)
    .execute();
  noteIntents(trx, brought);
  return cancels;
}
