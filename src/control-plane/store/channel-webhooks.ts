import type { Kysely } from 'kysely';
import { countDropped, type ChannelWebhookRowRead } from './channel-outbox.ts';
import type { ChannelWebhookRow } from './channel-rows.ts';
import type { Database } from './schema.ts';

export type NewWebhook = Pick<
  ChannelWebhookRow,
  'id' | 'organization_id' | 'name' | 'host' | 'url_sealed' | 'secret_sealed' | 'created_by' | 'created_at'
>;

/** @throws a unique violation (`isUniqueViolation`) when the organization has a webhook of that name */
export async function insertWebhook(trx: Kysely<Database>, webhook: NewWebhook): Promise<void> {
  await trx.insertInto('channel_webhooks').values(webhook).execute();
}

/** By name. An organization has few: see `MAX_WEBHOOKS`. */
export async function listWebhooks(db: Kysely<Database>, organizationId: string): Promise<ChannelWebhookRowRead[]> {
  return await db
    .selectFrom('channel_webhooks')
    .selectAll()
    .where('organization_id', '=', organizationId)
    .orderBy('name')
    .execute();
}

export async function findWebhook(
  db: Kysely<Database>,
  organizationId: string,
  name: string,
): Promise<ChannelWebhookRowRead | undefined> {
  return await db
    .selectFrom('channel_webhooks')
    .selectAll()
    .where('organization_id', '=', organizationId)
    .where('name', '=', name)
    .executeTakeFirst();
}

/** With what waits for it. */
export async function deleteWebhook(trx: Kysely<Database>, id: string): Promise<void> {
  await trx.deleteFrom('channel_outbox').where('webhook_id', '=', id).execute();
  await trx.deleteFrom('channel_webhooks').where('id', '=', id).execute();
}

/** Gives a webhook up, for a reason that people read. What waits for it goes and is counted. */
export async function disableWebhook(trx: Kysely<Database>, id: string, at: string, reason: string): Promise<void> {
  const { numDeletedRows } = await trx.deleteFrom('channel_outbox').where('webhook_id', '=', id).executeTakeFirst();
  if (numDeletedRows > 0n) await countDropped(trx, id, Number(numDeletedRows));
  await trx
    .updateTable('channel_webhooks')
    .set({ disabled_at: at, disabled_reason: reason })
    .where('id', '=', id)
    .where('disabled_at', 'is', null)
    .execute();
}

/** Messages from now on are sent again. */
export async function enableWebhook(trx: Kysely<Database>, id: string): Promise<void> {
  await trx
    .updateTable('channel_webhooks')
    .set({ disabled_at: null, disabled_reason: null, failing_since: null, last_error: null })
    .where('id', '=', id)
    .execute();
}
