import type { Insertable, Kysely } from 'kysely';
import type { Database, RegistrationTokenRow } from './schema.ts';

/** 24 hours (specification, "Limits"). */
export const REGISTRATION_TOKEN_LIFETIME_MS = 24 * 60 * 60 * 1000;

export async function insertRegistrationToken(
  trx: Kysely<Database>,
  token: Omit<Insertable<RegistrationTokenRow>, 'used_at'>,
): Promise<void> {
  await trx
    .insertInto('registration_tokens')
    .values({ ...token, used_at: null })
    .execute();
}

export async function findRegistrationToken(
  db: Kysely<Database>,
  tokenHash: string,
): Promise<RegistrationTokenRow | undefined> {
  return await db.selectFrom('registration_tokens').selectAll().where('token_hash', '=', tokenHash).executeTakeFirst();
}

/** Uses the token up. True for exactly one caller, however many try at once. */
export async function consumeRegistrationToken(trx: Kysely<Database>, tokenHash: string, at: string): Promise<boolean> {
  const result = await trx
    .updateTable('registration_tokens')
    .set({ used_at: at })
    .where('token_hash', '=', tokenHash)
    .where('used_at', 'is', null)
    .executeTakeFirst();
  return result.numUpdatedRows === 1n;
}
