import type { Kysely } from 'kysely';
import type { Database, RequestAnswerRow } from './schema.ts';

/** How long a repeated `Idempotency-Key` gives the first answer again. */
export const REQUEST_ANSWERS_KEPT_MS = 24 * 60 * 60 * 1000;

export type RequestKey = Pick<RequestAnswerRow, 'organization_id' | 'actor' | 'request_key'>;

/**
 * Takes the key for a request that is now carried out, unless it was taken since `keptSince`.
 *
 * @returns what it was taken for; undefined: it is taken for this request now
 */
export async function claimRequestKey(
  trx: Kysely<Database>,
  claim: RequestKey & Pick<RequestAnswerRow, 'request_hash' | 'created_at'>,
  keptSince: string,
): Promise<RequestAnswerRow | undefined> {
  const known = await ofKey(trx.selectFrom('request_answers').selectAll(), claim).executeTakeFirst();
  if (known !== undefined && known.created_at >= keptSince) return known;
  await releaseRequestKey(trx, claim);
  const { organization_id, actor, request_key, request_hash, created_at } = claim;
  await trx
    .insertInto('request_answers')
    .values({ organization_id, actor, request_key, request_hash, created_at, answer_sealed: null, answered_at: null })
    .execute();
  return undefined;
}

export async function keepAnswer(trx: Kysely<Database>, key: RequestKey, sealed: string, at: string): Promise<void> {
  await ofKey(trx.updateTable('request_answers').set({ answer_sealed: sealed, answered_at: at }), key).execute();
}

/** Nothing was done under it: the next one with it is the first. */
export async function releaseRequestKey(trx: Kysely<Database>, key: RequestKey): Promise<void> {
  await ofKey(trx.deleteFrom('request_answers'), key).execute();
}

export async function deleteRequestAnswersBefore(trx: Kysely<Database>, at: string): Promise<void> {
  await trx.deleteFrom('request_answers').where('created_at', '<', at).execute();
}

interface Filterable<Query> {
  where(column: keyof RequestKey, operator: '=', value: string): Query;
}

function ofKey<Query extends Filterable<Query>>(query: Query, key: RequestKey): Query {
  return query
    .where('organization_id', '=', key.organization_id)
    .where('actor', '=', key.actor)
    .where('request_key', '=', key.request_key);
}
