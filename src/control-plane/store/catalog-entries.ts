import { parseExactJson } from '../../protocol/exact-json.ts';
import type { Kysely } from 'kysely';
import { withoutCredentials, type ChartSource } from '../../protocol/chart.ts';
import type { Deprecation } from '../catalog/deprecation.ts';
import type { RequiredApprovals } from '../git/git-settings.ts';
import type { CatalogEntryRow, Database } from './schema.ts';

/** What of an entry's credential is shown. */
export interface CredentialInfo {
  readonly username: string;
  readonly setAt: string;
}

/** A catalog entry, its JSON columns read. */
export interface StoredCatalogEntry {
  readonly name: string;
  readonly chart: ChartSource;
  /** Allowed versions, a semver range. */
  readonly versions: string;
  readonly defaultValues?: Readonly<Record<string, unknown>>;
  /** JSON schema of the merged values. */
  readonly valuesSchema?: Readonly<Record<string, unknown>>;
  /** Who must approve what is installed from it, and each update. */
  readonly approval?: RequiredApprovals;
  readonly deprecation?: Deprecation;
  /** That its versions are read with a credential. Never part of what is put. */
  readonly credentials?: CredentialInfo;
  readonly updatedAt: string;
}

/** What a put did. `lost`: the user name of the credential that went with the chart that it was for. */
export interface PutOutcome {
  readonly isChanged: boolean;
  readonly isOtherChart: boolean;
  readonly lost?: string;
}

/**
 * Stores the entry, in place of one of that name. A credential stays as long as the chart does: one that was set for a
 * registry is never sent to another.
 */
export async function putCatalogEntry(
  trx: Kysely<Database>,
  organizationId: string,
  entry: StoredCatalogEntry,
): Promise<PutOutcome> {
  const content = {
    chart: JSON.stringify(entry.chart),
    versions: entry.versions,
    default_values: textOf(entry.defaultValues),
    values_schema: textOf(entry.valuesSchema),
    approval: textOf(entry.approval),
    deprecation: textOf(entry.deprecation),
  };
  const before = await catalogRow(trx, organizationId, entry.name);
  const isSame =
    before !== undefined &&
    Object.entries(content).every(([column, value]) => before[column as keyof typeof content] === value);
  if (isSame) return { isChanged: false, isOtherChart: false };
  const isOtherChart =
    before === undefined || chartSourceText(readEntry(before).chart) !== chartSourceText(entry.chart);
  const lost = isOtherChart && before !== undefined ? readEntry(before).credentials?.username : undefined;
  const changes = {
    ...content,
    ...(isOtherChart ? { credential_sealed: null, credential_info: null } : {}),
    updated_at: entry.updatedAt,
  };
  await trx
    .insertInto('catalog_entries')
    .values({
      organization_id: organizationId,
      name: entry.name,
      credential_sealed: null,
      credential_info: null,
      ...changes,
    })
    .onConflict((conflict) => conflict.columns(['organization_id', 'name']).doUpdateSet(changes))
    .execute();
  return { isChanged: true, isOtherChart, ...(lost === undefined ? {} : { lost }) };
}

/** The same for the same chart, in whatever order its fields were put. */
export function chartSourceText({ type, url, name }: ChartSource): string {
  return JSON.stringify([type, url, name]);
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

/** Answers false where there is none of that name. */
export async function deleteCatalogEntry(
  trx: Kysely<Database>,
  organizationId: string,
  name: string,
): Promise<boolean> {
  const { numDeletedRows } = await trx
    .deleteFrom('catalog_entries')
    .where('organization_id', '=', organizationId)
    .where('name', '=', name)
    .executeTakeFirstOrThrow();
  return numDeletedRows > 0n;
}

/** `undefined` takes it away. */
export async function setCatalogCredential(
  trx: Kysely<Database>,
  organizationId: string,
  name: string,
  credential: { readonly sealed: string; readonly info: CredentialInfo } | undefined,
): Promise<void> {
  await trx
    .updateTable('catalog_entries')
    .set({ credential_sealed: credential?.sealed ?? null, credential_info: textOf(credential?.info) })
    .where('organization_id', '=', organizationId)
    .where('name', '=', name)
    .execute();
}

export async function catalogRow(
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

export function readEntry(row: CatalogEntryRow): StoredCatalogEntry {
  return {
    name: row.name,
    chart: withoutCredentials(JSON.parse(row.chart) as ChartSource),
    versions: row.versions,
    ...ifThere<'defaultValues', Record<string, unknown>>('defaultValues', row.default_values),
    ...ifThere<'valuesSchema', Record<string, unknown>>('valuesSchema', row.values_schema),
    ...ifThere<'approval', RequiredApprovals>('approval', row.approval),
    ...ifThere<'deprecation', Deprecation>('deprecation', row.deprecation),
    ...ifThere<'credentials', CredentialInfo>('credentials', row.credential_info),
    updatedAt: row.updated_at,
  };
}

function textOf(value: unknown): string | null {
  return value === undefined ? null : JSON.stringify(value);
}

function ifThere<Name extends string, T>(name: Name, text: string | null): { readonly [K in Name]?: T } {
  return text === null ? {} : ({ [name]: parseExactJson(text) } as { readonly [K in Name]?: T });
}
