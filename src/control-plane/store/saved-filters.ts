import { sql, type Kysely } from 'kysely';
import type { Database, SavedFilterRow } from './schema.ts';

/** Lists whose queries can be kept. */
export const SAVED_LISTS = [
  'clusters',
  'applications',
  'intents',
  'operations',
  'jobs',
  'proposals',
  'approvals',
  'audit',
  'catalog',
] as const;

export interface FilterOwner {
  readonly organizationId: string;
  readonly owner: string;
}

export type SavedFilterKey = readonly [name: string, owner: string];

/** Somebody's own and what others share, by name; at most `limit`, those after `after`. */
export async function listSavedFilters(
  db: Kysely<Database>,
  { organizationId, owner }: FilterOwner,
  page: { readonly limit: number; readonly after: SavedFilterKey | undefined; readonly list: string | undefined },
): Promise<SavedFilterRow[]> {
  let query = db
    .selectFrom('saved_filters')
    .selectAll()
    .where('organization_id', '=', organizationId)
    .where((eb) => eb.or([eb('owner', '=', owner), eb('shared', '=', 1)]))
    .orderBy('name')
    .orderBy('owner')
    .limit(page.limit);
  if (page.list !== undefined) query = query.where('list', '=', page.list);
  if (page.after !== undefined) query = query.where(sql<boolean>`(name, owner) > (${sql.join(page.after)})`);
  return await query.execute();
}

/** What nobody else uses of somebody who is gone: whoever gets the name later is somebody else. */
export async function deletePrivateFilters(
  trx: Kysely<Database>,
  organizationId: string,
  owner: string,
): Promise<void> {
  await trx
    .deleteFrom('saved_filters')
    .where('organization_id', '=', organizationId)
    .where('owner', '=', owner)
    .where('shared', '=', 0)
    .execute();
}

/** His or her own of that name, else the one of that name that somebody shares: the one that was made first. */
export async function findSavedFilter(
  db: Kysely<Database>,
  { organizationId, owner }: FilterOwner,
  name: string,
): Promise<SavedFilterRow | undefined> {
  const rows = await db
    .selectFrom('saved_filters')
    .selectAll()
    .where('organization_id', '=', organizationId)
    .where('name', '=', name)
    .where((eb) => eb.or([eb('owner', '=', owner), eb('shared', '=', 1)]))
    .orderBy('created_at')
    .orderBy('owner')
    .execute();
  return rows.find((row) => row.owner === owner) ?? rows[0];
}

export async function countSavedFilters(db: Kysely<Database>, { organizationId, owner }: FilterOwner): Promise<number> {
  const { count } = await db
    .selectFrom('saved_filters')
    .select((eb) => eb.fn.countAll<number | string>().as('count'))
    .where('organization_id', '=', organizationId)
    .where('owner', '=', owner)
    .executeTakeFirstOrThrow();
  return Number(count);
}

/** Its time of making stays where there was one of that name. */
export async function putSavedFilter(trx: Kysely<Database>, row: SavedFilterRow): Promise<void> {
  const { list, query, shared, updated_at: updatedAt } = row;
  await trx
    .insertInto('saved_filters')
    .values(row)
    .onConflict((conflict) =>
      conflict
        .columns(['organization_id', 'owner', 'name'])
        .doUpdateSet({ list, query, shared, updated_at: updatedAt }),
    )
    .execute();
}

export async function deleteSavedFilter(
  trx: Kysely<Database>,
  { organizationId, owner }: FilterOwner,
  name: string,
): Promise<void> {
  await trx
    .deleteFrom('saved_filters')
    .where('organization_id', '=', organizationId)
    .where('owner', '=', owner)
    .where('name', '=', name)
    .execute();
}
