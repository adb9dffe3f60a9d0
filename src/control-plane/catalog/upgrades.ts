import type { Kysely } from 'kysely';
import semver from 'semver';
import { chartSourceText, readEntry } from '../store/catalog-entries.ts';
import type { Database } from '../store/schema.ts';
import { listStandingInstances, type InstanceKey, type InstancesOf } from '../store/standing-instances.ts';
import type { Deprecation } from './deprecation.ts';

/** Where an instance stands, and what its entry would allow. */
export interface InstanceUpgrade {
  readonly cluster: { readonly id: string; readonly slug: string };
  readonly namespace: string;
  readonly name: string;
  readonly catalogEntry: string;
  readonly version?: string;
  /** The newest version that the entry's range allows, of the list of `fetchedAt`. Absent: none is known. */
  readonly newestAllowed?: string;
  readonly isUpgradeAvailable: boolean;
  /** When the registry last gave the list. */
  readonly fetchedAt?: string;
  /** Why it did not the last time. */
  readonly fault?: string;
  readonly deprecated?: Deprecation;
}

interface EntryState {
  readonly newestAllowed?: string;
  readonly fetchedAt?: string;
  readonly fault?: string;
  readonly deprecated?: Deprecation;
}

/** A page of instances, with two queries however many there are. */
export async function listUpgrades(
  db: Kysely<Database>,
  of: InstancesOf,
  page: { readonly limit: number; readonly after?: InstanceKey | undefined },
): Promise<InstanceUpgrade[]> {
  const instances = await listStandingInstances(db, of, page);
  const names = [...new Set(instances.map(({ catalogEntry }) => catalogEntry))];
  const entries = await entryStates(db, of.organizationId, names);
  return instances.map((instance) => {
    const { version } = instance;
    const state = entries.get(instance.catalogEntry) ?? {};
    return { ...instance, ...state, isUpgradeAvailable: isUpgrade(state.newestAllowed, version) };
  });
}

/** Whether the newest version that is allowed is newer than what there is. */
export function isUpgrade(newestAllowed: string | undefined, version: string | undefined): boolean {
  return version !== undefined && newestAllowed !== undefined && semver.gt(newestAllowed, version);
}

/** Without the lists of versions, which may be long: the newest that is allowed was told from them when they came. */
export async function entryStates(
  db: Kysely<Database>,
  organizationId: string,
  names: readonly string[],
): Promise<ReadonlyMap<string, EntryState>> {
  if (names.length === 0) return new Map();
  const rows = await db
    .selectFrom('catalog_entries')
    .leftJoin('chart_versions as known', (join) =>
      join
        .onRef('known.organization_id', '=', 'catalog_entries.organization_id')
        .onRef('known.entry', '=', 'catalog_entries.name'),
    )
    .select(['name', 'chart', 'catalog_entries.versions', 'deprecation', 'updated_at'])
    .select(['known.source', 'known.newest_allowed', 'known.fetched_at', 'known.fault'])
    .where('catalog_entries.organization_id', '=', organizationId)
    .where('name', 'in', names)
    .execute();
  return new Map(
    rows.map(({ source, newest_allowed: newest, fetched_at: fetchedAt, fault, ...row }) => {
      const rest = { default_values: null, values_schema: null, approval: null, credential_info: null };
      const none = { organization_id: organizationId, credential_sealed: null };
      const { chart, deprecation } = readEntry({ ...row, ...rest, ...none });
      const isOfChart = source === chartSourceText(chart);
      return [
        row.name,
        {
          ...(isOfChart && newest !== null ? { newestAllowed: newest } : {}),
          ...(isOfChart && fetchedAt !== null ? { fetchedAt } : {}),
          ...(isOfChart && fault !== null ? { fault } : {}),
          ...(deprecation === undefined ? {} : { deprecated: deprecation }),
        },
      ];
    }),
  );
}
