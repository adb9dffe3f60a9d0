import type { Kysely } from 'kysely';
import type { Receipt } from '../../delivery/delivery.ts';
import { SUPERSEDED } from '../../delivery/refusal-reasons.ts';
import { setDesiredRevision } from './clusters.ts';
import { leaveHandover } from './leave-handovers.ts';
import { endAbsent, endRefusedBack, noteApplied } from './intent-progress.ts';
import { hasNewerDelivered } from './intents.ts';
import type { Database, IntentRow, ModeHandoverRow } from './schema.ts';

/** In which a newer intent stands for its object; one that was superseded itself does not. */
const SETTLED: readonly IntentRow['state'][] = ['delivered', 'applied', 'ready', 'removed', 'failed'];

type Delivered = Extract<Receipt, { readonly state: 'delivered' }>;

/** Enough of an intent to find its rows and those of its object, and the epoch that it was taken under. */
export interface HandedOverIntent {
  readonly id: string;
  readonly cluster_id: string;
  readonly target_kind: string;
  readonly namespace: string;
  readonly name: string;
  readonly generation: number;
  readonly delivery_epoch: number;
}

/** The row by which an intent is handed over under an epoch. */
export async function handoverOf(
  db: Kysely<Database>,
  intent: { readonly id: string; readonly delivery_epoch: number },
): Promise<ModeHandoverRow | undefined> {
  return await db
    .selectFrom('mode_handovers')
    .selectAll()
    .where('intent_id', '=', intent.id)
    .where('epoch', '=', intent.delivery_epoch)
    .executeTakeFirst();
}

/**
 * Stores what became of an intent that was handed over. The intent keeps its state and its first receipt: what the cluster
 * reports under the new epoch moves it on, as before. Only where the way back refuses one that is under way, that is its
 * end. Storing one twice changes nothing.
 *
 * @returns whether the cluster's `/config` changed: then its topic is to be notified after the commit
 */
export async function storeHandoverReceipt(
  trx: Kysely<Database>,
  intent: HandedOverIntent,
  receipt: Extract<Receipt, { readonly state: 'delivered' | 'refused' }>,
  at: string,
): Promise<boolean> {
  if (receipt.state === 'delivered') {
    await markHandedOver(trx, intent, receipt, at);
    if (receipt.mode === 'push') await noteApplied(trx, intent.id, at);
    if (receipt.isAbsent === true) await endOfAbsent(trx, intent, at);
    return receipt.revision === undefined ? false : await setDesiredRevision(trx, intent.cluster_id, receipt.revision);
  }
  // The target holds a newer intent of the object than this one: right when there is one.
  const isOvertaken = receipt.reason === SUPERSEDED && (await hasNewerDelivered(trx, intent, SETTLED));
  const reason = `${receipt.reason}: ${receipt.message}`;
  await trx
    .updateTable('mode_handovers')
    .set({ state: isOvertaken ? 'dropped' : 'refused', reason })
    .where('intent_id', '=', intent.id)
    .where('epoch', '=', intent.delivery_epoch)
    .where('state', '=', 'pending')
    .execute();
  await endRefusedBack(trx, intent, { state: receipt.reason === SUPERSEDED ? 'superseded' : 'failed', reason });
  return false;
}

/** What was to go is gone. What was to be brought again is not made anew. */
async function endOfAbsent(trx: Kysely<Database>, intent: HandedOverIntent, at: string): Promise<void> {
  await endAbsent(trx, intent.id);
  const row = await handoverOf(trx, intent);
  if (row === undefined || row.action === 'uninstall') return;
  await leaveHandover(
    trx,
    row,
    'it is not in the cluster any more, and a switch makes nothing anew; ask for it anew',
    at,
  );
}

/** The intent was brought under the epoch, for whichever reason it was taken. */
export async function markHandedOver(
  trx: Kysely<Database>,
  intent: Pick<HandedOverIntent, 'id' | 'delivery_epoch'>,
  { commit, revision, jobId, fieldManager }: Delivered,
  at: string,
): Promise<void> {
  await trx
    .updateTable('mode_handovers')
    .set({
      state: 'delivered',
      reason: null,
      receipt: JSON.stringify({ commit, revision, jobId, fieldManager }),
      delivered_at: at,
    })
    .where('intent_id', '=', intent.id)
    .where('epoch', '=', intent.delivery_epoch)
    .where('state', '=', 'pending')
    .execute();
}

/** Why intents that are handed over have to wait; in push mode only what is about an object alone, by which the way back goes. */
export async function noteHeldUp(
  trx: Kysely<Database>,
  batch: readonly (Pick<HandedOverIntent, 'id' | 'delivery_epoch'> & { readonly handover: string | null })[],
  why: ReadonlyMap<string, string>,
): Promise<void> {
  for (const { id, delivery_epoch: epoch, handover } of batch) {
    const reason = why.get(id);
    if (handover === null || reason === undefined) continue;
    await trx
      .updateTable('mode_handovers')
      .set({ reason })
      .where('intent_id', '=', id)
      .where('epoch', '=', epoch)
      .where('state', '=', 'pending')
      .execute();
  }
}

/**
 * A newer intent of the object was delivered under the epoch: nothing older is brought any more, and nobody waits for a
 * deletion that was overtaken. An apply that was brought is confirmed by what the newer one makes of the object.
 */
export async function dropOvertakenHandovers(trx: Kysely<Database>, newer: HandedOverIntent): Promise<void> {
  await trx
    .updateTable('mode_handovers')
    .set({ state: 'dropped', reason: `overtaken by intent ${newer.id} (generation ${newer.generation})` })
    .where('cluster_id', '=', newer.cluster_id)
    .where('epoch', '=', newer.delivery_epoch)
    .where('target_kind', '=', newer.target_kind)
    .where('namespace', '=', newer.namespace)
    .where('name', '=', newer.name)
    .where('generation', '<', newer.generation)
    // Said twice, so that the index of the states finds them.
    .where('state', 'in', ['pending', 'delivered'])
    .where((eb) => eb.or([eb('state', '=', 'pending'), eb('action', '=', 'uninstall')]))
    .execute();
}

/** The row whose job this is, as long as nobody has confirmed it. */
export async function handoverOfJob(
  db: Kysely<Database>,
  job: { readonly id: string; readonly intent_id: string; readonly delivery_epoch: number },
): Promise<ModeHandoverRow | undefined> {
  const row = await handoverOf(db, { id: job.intent_id, delivery_epoch: job.delivery_epoch });
  if (row?.state !== 'delivered' || row.receipt === null) return undefined;
  const { jobId } = JSON.parse(row.receipt) as Pick<Delivered, 'jobId'>;
  return jobId === job.id ? row : undefined;
}

/** What was brought did not come to be: it is brought again, or `refused` for good. */
export async function setHandover(
  trx: Kysely<Database>,
  row: Pick<ModeHandoverRow, 'switch_id' | 'epoch' | 'intent_id'>,
  change: { readonly state: 'pending' | 'refused'; readonly reason: string },
): Promise<void> {
  await trx
    .updateTable('mode_handovers')
    .set({ ...change, ...(change.state === 'pending' ? { receipt: null, delivered_at: null } : {}) })
    .where('switch_id', '=', row.switch_id)
    .where('epoch', '=', row.epoch)
    .where('intent_id', '=', row.intent_id)
    .where('state', '=', 'delivered')
    .execute();
}
