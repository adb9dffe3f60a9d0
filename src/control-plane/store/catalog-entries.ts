import { parseExactJson } from '../../protocol/exact-json.ts';
import type { Kysely } from 'kysely';
import { withoutCredentials, type ChartSource } from '../../protocol/chart.ts';
import type { CatalogEntryRow, Database } from './schema.ts';

/** A catalog entry, its JSON columns read. */
export interface StoredCatalogEntry {
  readonly name: string;
  readonly chart: ChartSource;
  /** Allowed versions, a semver range. */
  readonly versions: string;
  readonly defaultValues?: Readonly<Record<string, unknown>>;
  /** JSON schema of the merged values. */
  readonly valuesSchema?: Readonly<Record<string, unknown>>;
  readonly updatedAt: string;
}

/** Stores the entry, in place of one of that name. Answers false when it was the same already. */
export async function putCatalogEntry(
  trx: Kysely<Database>,
  organizationId: string,
  entry: StoredCatalogEntry,
): Promise<boolean> {
  const content = {
    chart: JSON.stringify(entry.chart),
    versions: entry.versions,
    default_values: entry.defaultValues === undefined ? null : JSON.stringify(entry.defaultValues),
    values_schema: entry.valuesSchema === undefined ? null : JSON.stringify(entry.valuesSchema),
  };
  const before = await catalogRow(trx, organizationId, entry.name);
  if (
    before !== undefined &&
    before.chart === content.chart &&
    before.versions === content.versions &&
    before.default_values === content.default_values &&
    before.values_schema === content.values_schema
  ) {
    return false;
  }
  await trx
    .insertInto('catalog_entries')
    .values({
      organization_id: organizationId,
      name: entry.name,
      ...content,
      approval: null,
      updated_at: entry.updatedAt,
    })
    .onConflict((conflict) =>
      conflict.columns(['organization_id', 'name']).doUpdateSet({ ...content, updated_at: entry.updatedAt }),
    )
    .execute();
  return true;
}

export async function findCatalogEntry(
  db: Kysely<Database>,
  organizationId: string,
  name: string,
): Promise<StoredCatalogEntry | undefined> {
  const row = await catalogRow(db, organizationId, name);
  return row === undefined ? undefined : readEntry(row);
}

/** By name; at most `limit`, those after the name `after`. */
export async function listCatalogEntries(
  db: Kysely<Database>,
  organizationId: string,
  page: { readonly limit: number; readonly after: string | undefined },
): Promise<StoredCatalogEntry[]> {
  let query = db
    .selectFrom('catalog_entries')
    .selectAll()
    .where('organization_id', '=', organizationId)
    .orderBy('name')
    .limit(page.limit);
  if (page.after !== undefined) query = query.where('name', '>', page.after);
  return (await query.execute()).map(readEntry);
}

async function catalogRow(
  db: Kysely<Database>,
  organizationId: string,
  name: string,
): Promise<CatalogEntryRow | undefined> {
  return await db
    .selectFrom('catalog_entries')
    .selectAll()
    .where('organization_id', '=', organizationId)
    .where('name', '=', name)
    .executeTakeFirst();
}

function readEntry(row: CatalogEntryRow): StoredCatalogEntry {
  return {
    name: row.name,
    chart: withoutCredentials(JSON.parse(row.chart) as ChartSource),
    versions: row.versions,
    ...(row.default_values === null
      ? {}
      : { defaultValues: parseExactJson(row.default_values) as Record<string, unknown> }),
    ...(row.values_schema === null
      ? {}
      : { valuesSchema: parseExactJson(row.values_schema) as Record<string, unknown> }),
    updatedAt: row.updated_at,
  };
}
