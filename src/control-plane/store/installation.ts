import type { Kysely } from 'kysely';
import type { MasterKey } from '../master-key.ts';
import type { Store } from './open-store.ts';
import type { Database } from './schema.ts';

/** What every process over this database must have alike: stored by the first, compared by the others. */
export async function agreeOn(trx: Kysely<Database>, name: string, value: string): Promise<boolean> {
  const known = await trx.selectFrom('installation').select('value').where('name', '=', name).executeTakeFirst();
  if (known !== undefined) return known.value === value;
  await trx.insertInto('installation').values({ name, value }).execute();
  return true;
}

/** @throws Error with one line that says what to do when this database was first opened with another master key */
export async function requireSameMasterKey(store: Store, masterKey: Pick<MasterKey, 'derive'>): Promise<void> {
  const mark = Buffer.from(masterKey.derive('installation')).toString('base64url');
  if (await store.write(async (trx) => await agreeOn(trx, 'master-key', mark))) return;
  throw new Error(
    'SERVICE_MASTER_KEY_FILE is not the key that this database was first opened with: nothing that is sealed in it would open; give every replica the same file',
  );
}
