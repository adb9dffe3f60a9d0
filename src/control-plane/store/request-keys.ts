import type { Kysely } from 'kysely';
import type { Database, RequestKeyRow } from './schema.ts';

/** How long a repeated `Idempotency-Key` gives the first answer again. */
export const REQUEST_KEY_LIFETIME_MS = 24 * 60 * 60 * 1000;

/** The request that a cluster's key was first used for. */
export async function findRequestKey(
  db: Kysely<Database>,
  clusterId: string,
  key: string,
): Promise<RequestKeyRow | undefined> {
  return await db
    .selectFrom('request_keys')
    .selectAll()
    .where('cluster_id', '=', clusterId)
    .where('request_key', '=', key)
    .executeTakeFirst();
}

export async function insertRequestKey(trx: Kysely<Database>, row: RequestKeyRow): Promise<void> {
  await trx.insertInto('request_keys').values(row).execute();
}

export async function deleteRequestKeysBefore(trx: Kysely<Database>, at: string): Promise<void> {
  await trx.deleteFrom('request_keys').where('created_at', '<', at).execute();
}
