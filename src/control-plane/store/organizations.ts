import type { Kysely } from 'kysely';
import { newId } from '../../protocol/ids.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Database, OrganizationRow } from './schema.ts';

/** Under this name the embedded Git host serves clusters their own directories; no repository and no organization may have it. */
export const PROJECTIONS = 'clusters';

/** The organization that the first start makes. */
export const DEFAULT_ORGANIZATION = 'default';

/** The organization of that name; made when there is none. */
export async function ensureOrganization(
  trx: Kysely<Database>,
  name: string,
  deps: { readonly clock: Clock; readonly randomBytes: (n: number) => Uint8Array },
): Promise<OrganizationRow> {
  const known = await trx.selectFrom('organizations').selectAll().where('name', '=', name).executeTakeFirst();
  if (known !== undefined) return known;
  // Its repositories would be served at the addresses of clusters.
  if (name === PROJECTIONS) throw new Error(`an organization cannot be called ${PROJECTIONS}`);
  const now = deps.clock.now();
  const made = {
    id: newId('org', now, deps.randomBytes),
    name,
    created_at: now.toISOString(),
    settings: null,
    recovery_public_key: null,
  };
  await trx.insertInto('organizations').values(made).execute();
  return made;
}

export async function findOrganization(db: Kysely<Database>, id: string): Promise<OrganizationRow | undefined> {
  return await db.selectFrom('organizations').selectAll().where('id', '=', id).executeTakeFirst();
}

export async function findOrganizationNamed(db: Kysely<Database>, name: string): Promise<OrganizationRow | undefined> {
  return await db.selectFrom('organizations').selectAll().where('name', '=', name).executeTakeFirst();
}

/** By name. `ids`: of those alone; undefined: of all. */
export async function listOrganizations(
  db: Kysely<Database>,
  which: {
    readonly ids: readonly string[] | undefined;
    readonly name?: string;
    readonly after?: string | undefined;
    readonly limit: number;
  },
): Promise<OrganizationRow[]> {
  let query = db.selectFrom('organizations').selectAll().orderBy('name').limit(which.limit);
  if (which.ids !== undefined) query = query.where('id', 'in', which.ids);
  if (which.name !== undefined) query = query.where('name', '=', which.name);
  if (which.after !== undefined) query = query.where('name', '>', which.after);
  return await query.execute();
}

/** Of two that change who may come in at once, the second sees what the first did. */
export async function lockOrganization(trx: Kysely<Database>, id: string): Promise<void> {
  await trx
    .updateTable('organizations')
    .set((eb) => ({ name: eb.ref('name') }))
    .where('id', '=', id)
    .execute();
}
