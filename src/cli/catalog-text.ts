import { printable } from './git-views.ts';
import { textTable } from './text-table.ts';

/** A catalog entry of the admin API, as far as it is printed. */
export interface ListedEntry {
  readonly name: string;
  readonly chart: { readonly type: string; readonly url: string; readonly name: string };
  readonly versions: string;
  readonly approval?: { readonly count: number; readonly roles?: Readonly<Record<string, number>> };
  readonly deprecation?: { readonly message: string; readonly replacement?: string };
  readonly credentials?: { readonly username: string; readonly setAt: string };
  readonly defaultValues?: unknown;
  readonly valuesSchema?: unknown;
  readonly updatedAt: string;
}

export interface ShownVersions {
  readonly range: string;
  readonly versions: readonly {
    readonly version: string;
    readonly appVersion?: string;
    readonly created?: string;
    readonly isAllowed: boolean;
    readonly deprecated?: boolean;
  }[];
  readonly leftOut: number;
  readonly fetchedAt?: string;
  readonly checkedAt?: string;
  readonly fault?: string;
}

export interface ListedUpgrade {
  readonly cluster: { readonly id: string; readonly slug: string };
  readonly namespace: string;
  readonly name: string;
  readonly catalogEntry: string;
  readonly version?: string;
  readonly newestAllowed?: string;
  readonly isUpgradeAvailable: boolean;
  readonly fetchedAt?: string;
  readonly fault?: string;
  readonly deprecated?: { readonly message: string };
}

export function entryTable(entries: readonly ListedEntry[]): string {
  const rows = entries.map(({ name, chart, versions, deprecation, approval }) => [
    name,
    versions,
    approval === undefined ? '-' : String(approval.count),
    deprecation === undefined ? '-' : (deprecation.replacement ?? 'yes'),
    chart.type,
    chart.url,
  ]);
  return printable(textTable([['NAME', 'VERSIONS', 'APPROVALS', 'DEPRECATED', 'TYPE', 'CHART'], ...rows]));
}

/** A line for each fact; of values and schema only whether there are some: `-o yaml` has them. */
export function entryText(entry: ListedEntry): string {
  const { chart, approval, deprecation, credentials } = entry;
  const roles = Object.entries(approval?.roles ?? {}).map(([role, count]) => `${count} of role ${role}`);
  const instead = deprecation?.replacement === undefined ? '' : ` (use ${deprecation.replacement})`;
  const lines = [
    ['name', entry.name],
    ['chart', `${chart.name} of ${chart.url}`],
    ['versions', entry.versions],
    ['values', entry.defaultValues === undefined ? '-' : 'has defaults; see -o yaml'],
    ['schema', entry.valuesSchema === undefined ? '-' : 'values are checked; see -o yaml'],
    ['approvals', approval === undefined ? '-' : [String(approval.count), ...roles].join(', ')],
    ['deprecated', deprecation === undefined ? '-' : `${deprecation.message}${instead}`],
    ['credential', credentials === undefined ? '-' : `user ${credentials.username}, set ${credentials.setAt}`],
    ['updated', entry.updatedAt],
  ];
  return printable(lines.map(([label = '', value = '']) => `${label.padEnd(12)} ${value}\n`).join(''));
}

/** @param isAll false: those alone that the entry's range allows */
export function versionTable({ versions }: ShownVersions, isAll: boolean): string {
  const rows = versions
    .filter(({ isAllowed }) => isAll || isAllowed)
    .map(({ version, appVersion = '-', created = '-', isAllowed, deprecated }) => [
      version,
      isAllowed ? 'yes' : 'no',
      appVersion,
      deprecated === true ? 'yes' : '-',
      created,
    ]);
  return printable(textTable([['VERSION', 'ALLOWED', 'APP VERSION', 'DEPRECATED', 'CREATED'], ...rows]));
}

export function upgradeTable(upgrades: readonly ListedUpgrade[]): string {
  const hasFaults = upgrades.some(({ fault }) => fault !== undefined);
  const rows = upgrades.map((one) => [
    one.cluster.slug,
    `${one.namespace}/${one.name}`,
    one.catalogEntry,
    one.version ?? '-',
    one.newestAllowed ?? '-',
    one.isUpgradeAvailable ? 'yes' : one.newestAllowed === undefined ? 'unknown' : 'no',
    one.deprecated === undefined ? '-' : 'yes',
    one.fetchedAt ?? '-',
    ...(hasFaults ? [one.fault ?? '-'] : []),
  ]);
  const header = ['CLUSTER', 'INSTANCE', 'ENTRY', 'VERSION', 'NEWEST', 'UPGRADE', 'DEPRECATED', 'LISTED AT'];
  return printable(textTable([[...header, ...(hasFaults ? ['LAST FAULT'] : [])], ...rows]));
}
