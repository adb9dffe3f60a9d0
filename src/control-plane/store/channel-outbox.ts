import { sql, type Kysely } from 'kysely';
import type { StoredMessage } from './channel-messages.ts';
import type { ChannelWebhookRow } from './channel-rows.ts';
import type { Database } from './schema.ts';

/** Messages that wait for one webhook; beyond that the oldest go and are counted. */
export const MAX_QUEUED = 1000;

/** Puts new messages into the queue of every webhook of the organization that is not given up. */
export async function queueMessages(
  trx: Kysely<Database>,
  organizationId: string,
  messageIds: readonly number[],
  at: string,
): Promise<void> {
  const webhooks = await trx
    .selectFrom('channel_webhooks')
    .select('id')
    .where('organization_id', '=', organizationId)
    .where('disabled_at', 'is', null)
    .execute();
  for (const { id } of webhooks) {
    await trx
      .insertInto('channel_outbox')
      .values(messageIds.map((message) => ({ webhook_id: id, message_id: message, attempts: 0, next_at: at })))
      .execute();
    await dropOldest(trx, id);
  }
}

async function dropOldest(trx: Kysely<Database>, webhookId: string): Promise<void> {
  const oldestKept = await trx
    .selectFrom('channel_outbox')
    .select('id')
    .where('webhook_id', '=', webhookId)
    .orderBy('id', 'desc')
    .offset(MAX_QUEUED - 1)
    .limit(1)
    .executeTakeFirst();
  if (oldestKept === undefined) return;
  const result = await trx
    .deleteFrom('channel_outbox')
    .where('webhook_id', '=', webhookId)
    .where('id', '<', oldestKept.id)
    .executeTakeFirst();
  if (result.numDeletedRows > 0n) await countDropped(trx, webhookId, Number(result.numDeletedRows));
}

export async function countDropped(trx: Kysely<Database>, webhookId: string, count: number): Promise<void> {
  await trx
    .updateTable('channel_webhooks')
    .set((eb) => ({ dropped: eb('dropped', '+', count) }))
    .where('id', '=', webhookId)
    .execute();
}

/** How many messages wait for each webhook of an organization that has any. */
export async function queueLengths(db: Kysely<Database>, organizationId: string): Promise<Map<string, number>> {
  const rows = await db
    .selectFrom('channel_outbox')
    .innerJoin('channel_webhooks', 'channel_webhooks.id', 'channel_outbox.webhook_id')
    .select(['channel_outbox.webhook_id', sql<number>`cast(count(*) as integer)`.as('waiting')])
    .where('channel_webhooks.organization_id', '=', organizationId)
    .groupBy('channel_outbox.webhook_id')
    .execute();
  return new Map(rows.map(({ webhook_id: id, waiting }) => [id, waiting]));
}

/**
 * Webhooks whose oldest message is due, which nobody else is sending to: one message at a time per webhook keeps them in
 * order. Those that have waited longest come first.
 */
export async function webhooksDue(
  db: Kysely<Database>,
  now: string,
  sender: string,
  limit: number,
): Promise<ChannelWebhookRowRead[]> {
  const heads = db
    .selectFrom('channel_outbox')
    .select(['webhook_id', sql<number>`min(id)`.as('head')])
    .groupBy('webhook_id');
  return await db
    .selectFrom('channel_webhooks')
    .innerJoin(heads.as('heads'), 'heads.webhook_id', 'channel_webhooks.id')
    .innerJoin('channel_outbox', 'channel_outbox.id', 'heads.head')
    .selectAll('channel_webhooks')
    .where('channel_webhooks.disabled_at', 'is', null)
    .where('channel_outbox.next_at', '<=', now)
    .where((eb) =>
      eb.or([
        eb('channel_webhooks.claimed_until', 'is', null),
        eb('channel_webhooks.claimed_until', '<=', now),
        eb('channel_webhooks.claimed_by', '=', sender),
      ]),
    )
    .orderBy('channel_outbox.next_at')
    .limit(limit)
    .execute();
}

/** A webhook as it is read. */
export type ChannelWebhookRowRead = Omit<ChannelWebhookRow, 'dropped'> & { readonly dropped: number };

/** When the next message is due, if any waits. */
export async function nextDueAt(db: Kysely<Database>): Promise<string | undefined> {
  const row = await db
    .selectFrom('channel_outbox')
    .innerJoin('channel_webhooks', 'channel_webhooks.id', 'channel_outbox.webhook_id')
    .select('channel_outbox.next_at')
    .where('channel_webhooks.disabled_at', 'is', null)
    .orderBy('channel_outbox.next_at')
    .limit(1)
    .executeTakeFirst();
  return row?.next_at;
}

/** Takes a webhook for one sender until then; false: another sender has it. */
export async function claimWebhook(
  trx: Kysely<Database>,
  id: string,
  claim: { readonly sender: string; readonly now: string; readonly until: string },
): Promise<boolean> {
  const result = await trx
    .updateTable('channel_webhooks')
    .set({ claimed_by: claim.sender, claimed_until: claim.until })
    .where('id', '=', id)
    .where('disabled_at', 'is', null)
    .where((eb) =>
      eb.or([
        eb('claimed_until', 'is', null),
        eb('claimed_until', '<=', claim.now),
        eb('claimed_by', '=', claim.sender),
      ]),
    )
    .executeTakeFirst();
  return result.numUpdatedRows > 0n;
}

export async function releaseWebhook(trx: Kysely<Database>, id: string, sender: string): Promise<void> {
  await trx
    .updateTable('channel_webhooks')
    .set({ claimed_by: null, claimed_until: null })
    .where('id', '=', id)
    .where('claimed_by', '=', sender)
    .execute();
}

/** A message in the queue of one webhook. */
export interface QueuedMessage {
  readonly outboxId: number;
  /** That failed. */
  readonly attempts: number;
  readonly nextAt: string;
  readonly message: StoredMessage;
}

/** The oldest message that waits for a webhook. */
export async function headOf(db: Kysely<Database>, webhookId: string): Promise<QueuedMessage | undefined> {
  const head = await db
    .selectFrom('channel_outbox')
    .select(['id', 'attempts', 'message_id', 'next_at'])
    .where('webhook_id', '=', webhookId)
    .orderBy('id')
    .limit(1)
    .executeTakeFirst();
  if (head === undefined) return undefined;
  const message = await db
    .selectFrom('channel_messages')
    .selectAll()
    .where('id', '=', head.message_id)
    .executeTakeFirst();
  // Retention never takes a message that waits.
  if (message === undefined) throw new Error(`message ${head.message_id} of the outbox is not there`);
  return { outboxId: head.id, attempts: head.attempts, nextAt: head.next_at, message };
}

/** The message was taken. */
export async function settleSent(
  trx: Kysely<Database>,
  webhookId: string,
  outboxId: number,
  at: string,
): Promise<void> {
  await trx.deleteFrom('channel_outbox').where('id', '=', outboxId).execute();
  await trx
    .updateTable('channel_webhooks')
    .set({ last_sent_at: at, failing_since: null, last_error: null })
    .where('id', '=', webhookId)
    .execute();
}

/** The receiver refused this message for good: it goes, those behind it are sent. */
export async function settleRefused(
  trx: Kysely<Database>,
  webhookId: string,
  outboxId: number,
  error: string,
): Promise<void> {
  await trx.deleteFrom('channel_outbox').where('id', '=', outboxId).execute();
  await countDropped(trx, webhookId, 1);
  await trx.updateTable('channel_webhooks').set({ last_error: error }).where('id', '=', webhookId).execute();
}

/** It is tried again then; what is behind it waits. */
export async function settleFailed(
  trx: Kysely<Database>,
  webhookId: string,
  outboxId: number,
  failure: { readonly error: string; readonly at: string; readonly nextAt: string },
): Promise<void> {
  await trx
    .updateTable('channel_outbox')
    .set((eb) => ({ attempts: eb('attempts', '+', 1), next_at: failure.nextAt }))
    .where('id', '=', outboxId)
    .execute();
  await trx
    .updateTable('channel_webhooks')
    .set((eb) => ({
      failing_since: eb.fn.coalesce('failing_since', sql<string>`${failure.at}`),
      last_error: failure.error,
    }))
    .where('id', '=', webhookId)
    .execute();
}
