import { printable } from './git-views.ts';
import { textTable } from './text-table.ts';

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
}

/** What is shown of one cluster. */
export interface ShownCluster extends ListedCluster {
  readonly displayName: string;
  readonly operatorVersion?: string;
  readonly git?: { readonly repository: string; readonly path: string; readonly review: string };
}

const HEADER = ['SLUG', 'ID', 'STATUS', 'MODE', 'CONNECTED', 'LAST CONTACT'];

/** A line for each cluster below a header line. */
export function clusterTable(clusters: readonly ListedCluster[]): string {
  return textTable([HEADER, ...clusters.map(cellsOf)]);
}

/** One word of what keeps the operator out, where there is such a thing; else the record's own status. */
function statusOf({ status, disabledAt, conditions }: ListedCluster): string {
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

function cellsOf(cluster: ListedCluster): string[] {
  const { slug, id, conditions, lastContactAt } = cluster;
  const connected = conditions.find(({ type }) => type === 'Connected')?.status ?? 'Unknown';
  return [slug, id, statusOf(cluster), modeOf(cluster), connected, lastContactAt ?? '-'];
}

/** A line for each fact, then the conditions with what they say. */
export function clusterText(cluster: ShownCluster): string {
  const { id, slug, displayName, lastContactAt, operatorVersion, git, conditions } = cluster;
  const facts = [
    ['slug', slug],
    ['id', id],
    ['name', displayName],
    ['status', statusOf(cluster)],
    ['mode', modeOf(cluster)],
    ['operator', operatorVersion ?? '-'],
    ['last contact', lastContactAt ?? '-'],
    ...(git === undefined
      ? []
      : [
          ['repository', git.repository],
          ['directory', git.path],
          ['review', git.review],
        ]),
  ];
  const lines = facts.map(([label = '', value = '']) => `${label.padEnd(13)} ${value}\n`);
  const said = conditions.map(({ type, status, reason = '-', message = '' }) => [type, status, reason, message]);
  const table = said.length === 0 ? '' : `\n${textTable([['CONDITION', 'STATUS', 'REASON', 'MESSAGE'], ...said])}`;
  return printable(`${lines.join('')}${table}`);
}
