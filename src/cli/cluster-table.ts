import { toneOf, type Paint } from './colours.ts';
import { factsText, sectionText, type Column, type Fact } from './output.ts';

/** What is shown of a cluster of the admin API's list. */
export interface ListedCluster {
  readonly id: string;
  readonly slug: string;
  readonly status: string;
  readonly disabledAt?: string;
  readonly connectivityMode: string;
  readonly conditions: readonly {
    readonly type: string;
    readonly status: string;
    readonly reason?: string;
    readonly message?: string;
  }[];
  /** The switch of mode that is under way. */
  readonly modeSwitch?: { readonly id: string; readonly state: string; readonly to: string };
  /** RFC 3339; absent before the first contact. */
  readonly lastContactAt?: string;
  readonly displayName: string;
  readonly operatorVersion?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly health?: string;
  readonly waitingFor?: { readonly count: number; readonly text: string; readonly since: string };
  readonly applications?: {
    readonly total: number;
    readonly ready: number;
    readonly failed: number;
    readonly progressing: number;
  };
}

/** What is shown of one cluster. */
export interface ShownCluster extends ListedCluster {
  readonly allowedNamespaces: readonly string[];
  readonly credential?: { readonly expiresAt: string; readonly rotateAfter: string };
  readonly desiredOperatorVersion?: string;
  readonly git?: { readonly repository: string; readonly path: string; readonly review: string };
}

/** A line for each cluster. */
export const CLUSTER_COLUMNS: readonly Column<ListedCluster>[] = [
  { header: 'SLUG', value: ({ slug }) => slug },
  { header: 'ID', value: ({ id }) => id, isWide: true },
  { header: 'NAME', value: ({ displayName }) => displayName, isWide: true },
  { header: 'STATUS', value: statusOf, tone: (cluster) => toneOf(statusOf(cluster)) },
  { header: 'MODE', value: modeOf },
  { header: 'HEALTH', value: ({ health }) => health, tone: ({ health }) => toneOf(health ?? '-') },
  { header: 'APPS', value: appsText },
  { header: 'CONNECTED', value: connectedOf, tone: (cluster) => toneOf(connectedOf(cluster)) },
  { header: 'LAST CONTACT', value: ({ lastContactAt }) => lastContactAt },
  { header: 'OPERATOR', value: ({ operatorVersion }) => operatorVersion, isWide: true },
  { header: 'LABELS', value: ({ labels }) => labelsText(labels ?? {}), isWide: true },
  { header: 'WAITING FOR', value: ({ waitingFor }) => waitingFor?.text, isWide: true },
];

/** `env=prod,team=shop`; undefined for none. */
export function labelsText(labels: Readonly<Record<string, string>>): string | undefined {
  const text = Object.entries(labels)
    .map(([name, value]) => `${name}=${value}`)
    .join(',');
  return text === '' ? undefined : text;
}

function appsText({ applications }: ListedCluster): string | undefined {
  return applications === undefined ? undefined : `${applications.ready}/${applications.total}`;
}

function connectedOf({ conditions }: ListedCluster): string {
  return conditions.find(({ type }) => type === 'Connected')?.status ?? 'Unknown';
}

/** One word of what keeps the operator out, where there is such a thing; else the record's own status. */
export function statusOf({ status, disabledAt, conditions }: ListedCluster): string {
  if (disabledAt !== undefined) return 'Disabled';
  const expired = conditions.find(({ type }) => type === 'Expired');
  if (expired?.reason === 'CredentialRevoked') return 'Revoked';
  return expired?.status === 'True' ? 'Expired' : status;
}

/** With where a switch is on its way to; on the way back it says where from. */
function modeOf({ connectivityMode, modeSwitch }: ListedCluster): string {
  if (modeSwitch === undefined) return connectivityMode;
  const { state, to } = modeSwitch;
  if (state === 'rolling-back') return `${connectivityMode} (back from ${to})`;
  return connectivityMode === to ? `${to} (${state})` : `${connectivityMode} → ${to}`;
}

type ShownCondition = ListedCluster['conditions'][number];

const CONDITION_COLUMNS: readonly Column<ShownCondition>[] = [
  { header: 'CONDITION', value: ({ type }) => type },
  { header: 'STATUS', value: ({ status }) => status, tone: ({ status }) => (status === 'Unknown' ? 'dim' : undefined) },
  { header: 'REASON', value: ({ reason }) => reason },
  { header: 'MESSAGE', value: ({ message }) => message },
];

/** A line for each fact, then the conditions with what they say. */
export function clusterText(
  cluster: ShownCluster,
  how: { readonly isWide?: boolean; readonly paint?: Paint } = {},
): string {
  const {
    git,
    waitingFor,
    credential,
    applications: apps,
    operatorVersion = '-',
    desiredOperatorVersion: asked,
  } = cluster;
  const facts: readonly Fact[] = [
    ['slug', cluster.slug],
    ['id', cluster.id],
    ['name', cluster.displayName],
    ['labels', labelsText(cluster.labels ?? {})],
    ['status', statusOf(cluster), toneOf(statusOf(cluster))],
    ['health', cluster.health, toneOf(cluster.health ?? '-')],
    ['mode', modeOf(cluster)],
    ['operator', asked === undefined ? operatorVersion : `${operatorVersion}; asked to run ${asked}`],
    ['last contact', cluster.lastContactAt ?? '-'],
    [
      'credential',
      credential === undefined ? undefined : `until ${credential.expiresAt}, renewed after ${credential.rotateAfter}`,
    ],
    [
      'namespaces',
      cluster.allowedNamespaces.length === 0 ? 'none: nothing can be delivered' : cluster.allowedNamespaces.join(', '),
    ],
    [
      'applications',
      apps === undefined
        ? undefined
        : `${apps.total}: ${apps.ready} ready, ${apps.progressing} progressing, ${apps.failed} failed`,
    ],
    [
      'waiting for',
      waitingFor === undefined
        ? undefined
        : `${waitingFor.text} (since ${waitingFor.since}; ${waitingFor.count} in all)`,
      'warning',
    ],
    ['repository', git?.repository],
    ['directory', git?.path],
    ['review', git?.review],
  ];
  return `${factsText(facts, how.paint)}${sectionText(cluster.conditions, CONDITION_COLUMNS, how)}`;
}
