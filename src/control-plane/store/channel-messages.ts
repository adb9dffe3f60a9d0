import { sql, type Insertable, type Kysely } from 'kysely';
import { bulkInsert } from './bulk-insert.ts';
import type { ChannelMessageRow } from './channel-rows.ts';
import type { Database } from './schema.ts';

/** A message as it is read: its number is known. */
export type StoredMessage = Omit<ChannelMessageRow, 'id'> & { readonly id: number };

type NewMessage = Omit<Insertable<ChannelMessageRow>, 'id'>;

/** Recent messages of one cluster that are looked at for the same outcome; a cluster tells a few an hour. */
const MAX_RECENT = 200;
/** What was told of one object that is looked at; what it is now is told by a few. */
const MAX_STANDINGS = 50;

const insertNew = bulkInsert<NewMessage, { readonly id: number }>(
  [
    'message_key',
    'organization_id',
    'at',
    'cluster_id',
    'category',
    'reason',
    'text',
    'resource_ref',
    'told_by',
    'told_at',
    'event_seq',
    'object_key',
    'standing',
  ],
  (trx, rows) =>
    trx
      .insertInto('channel_messages')
      .values(rows)
      .onConflict((conflict) => conflict.column('message_key').doNothing())
      .returning('id'),
);

/** @returns the numbers of those that were not there yet */
export async function insertMessages(trx: Kysely<Database>, rows: readonly NewMessage[]): Promise<number[]> {
  const inserted = await insertNew.run(trx, rows);
  return inserted.map(({ id }) => id).sort((a, b) => a - b);
}

/** What a cluster told since then, the newest first. */
export async function recentMessages(
  trx: Kysely<Database>,
  clusterId: string,
  since: Date,
): Promise<Pick<ChannelMessageRow, 'reason' | 'text' | 'told_by' | 'told_at'>[]> {
  return await trx
    .selectFrom('channel_messages')
    .select(['reason', 'text', 'told_by', 'told_at'])
    .where('cluster_id', '=', clusterId)
    .where('at', '>=', since.toISOString())
    .orderBy('at', 'desc')
    .limit(MAX_RECENT)
    .execute();
}

/** What objects of a cluster were told to be: of each its last standings, the newest first. */
export async function standingsOf(
  trx: Kysely<Database>,
  clusterId: string,
  objects: readonly string[],
): Promise<Map<string, string[]>> {
  const known = new Map<string, string[]>(objects.map((object) => [object, []]));
  if (known.size === 0) return known;
  const rows = await trx
    .selectFrom((eb) =>
      eb
        .selectFrom('channel_messages')
        .select(['object_key', 'standing'])
        .select(sql<number>`row_number() OVER (PARTITION BY object_key ORDER BY id DESC)`.as('age'))
        .where('cluster_id', '=', clusterId)
        .where('object_key', 'in', [...known.keys()])
        .as('told'),
    )
    .select(['object_key', 'standing'])
    .where('age', '<=', MAX_STANDINGS)
    .orderBy('age')
    .execute();
  for (const { object_key: object, standing } of rows) if (standing !== null) known.get(object ?? '')?.push(standing);
  return known;
}

export interface MessageFilter {
  readonly organizationId: string;
  readonly clusterId: string | undefined;
  readonly category: ChannelMessageRow['category'] | undefined;
  readonly reason: string | undefined;
}

/** Messages of one organization, the newest first; at most `limit`, those before the message `before`. */
export async function listMessages(
  db: Kysely<Database>,
  filter: MessageFilter,
  page: { readonly limit: number; readonly before: number | undefined },
): Promise<StoredMessage[]> {
  let query = db
    .selectFrom('channel_messages')
    .selectAll()
    .where('organization_id', '=', filter.organizationId)
    .orderBy('id', 'desc')
    .limit(page.limit);
  if (filter.clusterId !== undefined) query = query.where('cluster_id', '=', filter.clusterId);
  if (filter.category !== undefined) query = query.where('category', '=', filter.category);
  if (filter.reason !== undefined) query = query.where('reason', '=', filter.reason);
  if (page.before !== undefined) query = query.where('id', '<', page.before);
  return await query.execute();
}
