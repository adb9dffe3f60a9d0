import { sql, type Kysely } from 'kysely';
import { newestAllowed, type ChartVersions } from '../catalog/chart-versions.ts';
import { catalogRow, chartSourceText, readEntry, type StoredCatalogEntry } from './catalog-entries.ts';
import type { CatalogEntryRow, ChartVersionsRow, Database } from './schema.ts';

/** What is known of the versions of an entry's chart. */
export interface KnownVersions extends ChartVersions {
  /** Of the registry's answer that they are of. */
  readonly etag?: string;
  /** When they last came, and when they were last asked for: RFC 3339. */
  readonly fetchedAt?: string;
  readonly checkedAt?: string;
  /** Why they did not come the last time. */
  readonly fault?: string;
}

/** How asking for them ended. */
export type VersionsOutcome =
  | { readonly state: 'fetched'; readonly versions: ChartVersions; readonly etag?: string }
  | { readonly state: 'unchanged' }
  | { readonly state: 'failed'; readonly fault: string };

const NOTHING: KnownVersions = { versions: [], leftOut: 0 };
const NONE = JSON.stringify(NOTHING);

/** Those of the chart that the entry has now; of another chart before it nothing is known. */
export async function findChartVersions(
  db: Kysely<Database>,
  organizationId: string,
  entry: Pick<StoredCatalogEntry, 'name' | 'chart'>,
): Promise<KnownVersions> {
  const row = await versionsRow(db, organizationId, entry.name);
  return row?.source === chartSourceText(entry.chart) ? readVersions(row) : NOTHING;
}

/**
 * Stores how asking for an entry's versions ended. After a fault the list of before stays. Nothing is stored where the entry
 * went, is of another chart or has another credential now, or was asked about later meanwhile.
 *
 * @param asked the entry as it was when its registry was asked
 */
export async function storeVersions(
  trx: Kysely<Database>,
  asked: CatalogEntryRow,
  outcome: VersionsOutcome,
  at: { readonly checkedAt: string; readonly nextCheckAt: string },
): Promise<void> {
  const { organization_id: organizationId, name } = asked;
  const source = chartSourceText(readEntry(asked).chart);
  const row = await catalogRow(trx, organizationId, name);
  if (row === undefined || row.credential_sealed !== asked.credential_sealed) return;
  const current = readEntry(row);
  if (chartSourceText(current.chart) !== source) return;
  const stored = await versionsRow(trx, organizationId, name);
  const before = stored?.source === source ? stored : undefined;
  if (before !== undefined && (before.checked_at ?? '') > at.checkedAt) return;
  const kept = {
    versions: before?.versions ?? NONE,
    newest_allowed: before?.newest_allowed ?? null,
    etag: before?.etag ?? null,
    fetched_at: before?.fetched_at ?? null,
  };
  const columns = {
    source,
    ...kept,
    ...(outcome.state === 'fetched'
      ? {
          versions: JSON.stringify(outcome.versions),
          newest_allowed: newestAllowed(outcome.versions, current.versions) ?? null,
          etag: outcome.etag ?? null,
        }
      : {}),
    ...(outcome.state === 'failed' ? {} : { fetched_at: at.checkedAt }),
    fault: outcome.state === 'failed' ? outcome.fault : null,
    checked_at: at.checkedAt,
    next_check_at: at.nextCheckAt,
  };
  await trx
    .insertInto('chart_versions')
    .values({ organization_id: organizationId, entry: name, ...columns })
    .onConflict((conflict) => conflict.columns(['organization_id', 'entry']).doUpdateSet(columns))
    .execute();
}

/**
 * Stored before a registry is asked: what stops this program in the middle of an answer does not meet it again at once after
 * each restart.
 */
export async function putOffCheck(trx: Kysely<Database>, asked: CatalogEntryRow, nextCheckAt: string): Promise<void> {
  const { organization_id: organizationId, name } = asked;
  const row = await catalogRow(trx, organizationId, name);
  // Another credential makes it due, and what is asked with this one will not be stored.
  if (row?.credential_sealed !== asked.credential_sealed) return;
  await trx
    .insertInto('chart_versions')
    .values({
      organization_id: organizationId,
      entry: name,
      source: chartSourceText(readEntry(asked).chart),
      versions: NONE,
      newest_allowed: null,
      etag: null,
      fetched_at: null,
      fault: null,
      checked_at: null,
      next_check_at: nextCheckAt,
    })
    .onConflict((conflict) =>
      conflict.columns(['organization_id', 'entry']).doUpdateSet({ next_check_at: nextCheckAt }),
    )
    .execute();
}

/** Whether they were asked for after that time, and nothing has changed since that would make the answer another one. */
export async function wereAskedSince(
  db: Kysely<Database>,
  organizationId: string,
  entry: Pick<StoredCatalogEntry, 'name' | 'chart'>,
  since: string,
): Promise<boolean> {
  const row = await versionsRow(db, organizationId, entry.name);
  if (row?.source !== chartSourceText(entry.chart) || row.next_check_at === null) return false;
  return row.checked_at !== null && row.checked_at > since;
}

/** After an entry was put: another chart's list goes, and another range may allow other versions of the same one. */
export async function fitVersions(
  trx: Kysely<Database>,
  organizationId: string,
  entry: StoredCatalogEntry,
  { isOtherChart }: { readonly isOtherChart: boolean },
): Promise<void> {
  if (isOtherChart) {
    await deleteChartVersions(trx, organizationId, entry.name);
    return;
  }
  const known = await findChartVersions(trx, organizationId, entry);
  await trx
    .updateTable('chart_versions')
    .set({ newest_allowed: newestAllowed(known, entry.versions) ?? null })
    .where('organization_id', '=', organizationId)
    .where('entry', '=', entry.name)
    .execute();
}

/** Asked again at the next look: what was asked with another credential says nothing of this one. */
export async function makeDue(trx: Kysely<Database>, organizationId: string, entry: string): Promise<void> {
  await trx
    .updateTable('chart_versions')
    .set({ next_check_at: null })
    .where('organization_id', '=', organizationId)
    .where('entry', '=', entry)
    .execute();
}

export async function deleteChartVersions(trx: Kysely<Database>, organizationId: string, entry: string): Promise<void> {
  await trx
    .deleteFrom('chart_versions')
    .where('organization_id', '=', organizationId)
    .where('entry', '=', entry)
    .execute();
}

/**
 * Entries of all organizations whose versions are to be asked for, at most `limit`: each organization's that waits longest,
 * then each one's second, and so on, so that no organization's entries keep those of others out.
 */
export async function entriesToCheck(db: Kysely<Database>, now: string, limit: number): Promise<CatalogEntryRow[]> {
  return await db
    .selectFrom('catalog_entries')
    .leftJoin('chart_versions', (join) =>
      join
        .onRef('chart_versions.organization_id', '=', 'catalog_entries.organization_id')
        .onRef('chart_versions.entry', '=', 'catalog_entries.name'),
    )
    .selectAll('catalog_entries')
    .where((eb) =>
      eb.or([eb('chart_versions.next_check_at', 'is', null), eb('chart_versions.next_check_at', '<=', now)]),
    )
    .orderBy(
      sql`row_number() over (partition by catalog_entries.organization_id order by coalesce(chart_versions.next_check_at, ''), catalog_entries.name)`,
    )
    .orderBy(sql`coalesce(chart_versions.next_check_at, '')`)
    .orderBy('catalog_entries.organization_id')
    .orderBy('catalog_entries.name')
    .limit(limit)
    .execute();
}

async function versionsRow(
  db: Kysely<Database>,
  organizationId: string,
  entry: string,
): Promise<ChartVersionsRow | undefined> {
  return await db
    .selectFrom('chart_versions')
    .selectAll()
    .where('organization_id', '=', organizationId)
    .where('entry', '=', entry)
    .executeTakeFirst();
}

function readVersions(row: ChartVersionsRow): KnownVersions {
  return {
    ...(JSON.parse(row.versions) as ChartVersions),
    ...(row.etag === null ? {} : { etag: row.etag }),
    ...(row.fetched_at === null ? {} : { fetchedAt: row.fetched_at }),
    ...(row.checked_at === null ? {} : { checkedAt: row.checked_at }),
    ...(row.fault === null ? {} : { fault: row.fault }),
  };
}
