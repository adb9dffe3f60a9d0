import type { Kysely } from 'kysely';
import { findCatalogEntry } from '../store/catalog-entries.ts';
import type { Database } from '../store/schema.ts';
import { deprecationWarnings, type Warning } from './deprecation.ts';

/** What the answer to an accepted intent says besides; an update is of the entry that it carries on, too. */
export async function intentWarnings(db: Kysely<Database>, intentId: string): Promise<readonly Warning[]> {
  const intent = await db
    .selectFrom('intents')
    .select(['organization_id', 'catalog_entry'])
    .where('id', '=', intentId)
    .executeTakeFirst();
  if (intent?.catalog_entry === undefined || intent.catalog_entry === null) return [];
  const entry = await findCatalogEntry(db, intent.organization_id, intent.catalog_entry);
  return deprecationWarnings(intent.catalog_entry, entry?.deprecation);
}
