import type { Paint } from './colours.ts';
import { factsText, type Column, type Fact } from './output.ts';

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

export const ENTRY_COLUMNS: readonly Column<ListedEntry>[] = [
  { header: 'NAME', value: ({ name }) => name },
  { header: 'VERSIONS', value: ({ versions }) => versions },
  { header: 'APPROVALS', value: ({ approval }) => approval?.count },
  {
    header: 'DEPRECATED',
    value: ({ deprecation }) => (deprecation === undefined ? '-' : (deprecation.replacement ?? 'yes')),
    tone: ({ deprecation }) => (deprecation === undefined ? undefined : 'warning'),
  },
  { header: 'TYPE', value: ({ chart }) => chart.type },
  { header: 'UPDATED', value: ({ updatedAt }) => updatedAt, isWide: true },
  { header: 'CREDENTIAL', value: ({ credentials }) => credentials?.username, isWide: true },
  { header: 'CHART', value: ({ chart }) => chart.url },
];

/** A line for each fact; of values and schema only whether there are some: `-o yaml` has them. */
export function entryText(entry: ListedEntry, { paint }: { readonly paint?: Paint } = {}): string {
  const { chart, approval, deprecation, credentials } = entry;
  const roles = Object.entries(approval?.roles ?? {}).map(([role, count]) => `${count} of role ${role}`);
  const instead = deprecation?.replacement === undefined ? '' : ` (use ${deprecation.replacement})`;
  const facts: readonly Fact[] = [
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
  return factsText(facts, paint);
}

export const VERSION_COLUMNS: readonly Column<ShownVersions['versions'][number]>[] = [
  { header: 'VERSION', value: ({ version }) => version },
  { header: 'ALLOWED', value: ({ isAllowed }) => (isAllowed ? 'yes' : 'no') },
  { header: 'APP VERSION', value: ({ appVersion }) => appVersion },
  { header: 'DEPRECATED', value: ({ deprecated }) => (deprecated === true ? 'yes' : '-') },
  { header: 'CREATED', value: ({ created }) => created },
];

/** With what was wrong last, where anything was. */
export function upgradeColumns(upgrades: readonly ListedUpgrade[]): readonly Column<ListedUpgrade>[] {
  const hasFaults = upgrades.some(({ fault }) => fault !== undefined);
  return [
    { header: 'CLUSTER', value: ({ cluster }) => cluster.slug },
    { header: 'INSTANCE', value: ({ namespace, name }) => `${namespace}/${name}` },
    { header: 'ENTRY', value: ({ catalogEntry }) => catalogEntry },
    { header: 'VERSION', value: ({ version }) => version },
    { header: 'NEWEST', value: ({ newestAllowed }) => newestAllowed },
    {
      header: 'UPGRADE',
      value: ({ isUpgradeAvailable, newestAllowed }) =>
        isUpgradeAvailable ? 'yes' : newestAllowed === undefined ? 'unknown' : 'no',
      tone: ({ isUpgradeAvailable }) => (isUpgradeAvailable ? 'warning' : undefined),
    },
    { header: 'DEPRECATED', value: ({ deprecated }) => (deprecated === undefined ? '-' : 'yes') },
    { header: 'LISTED AT', value: ({ fetchedAt }) => fetchedAt },
    { header: 'LAST FAULT', value: ({ fault }) => fault, tone: () => 'bad', isWide: !hasFaults },
  ];
}
