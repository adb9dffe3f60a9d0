import { textTable } from './text-table.ts';

/** What is shown of a cluster of the admin API's list. */
export interface ListedCluster {
  readonly id: string;
  readonly slug: string;
  readonly status: string;
  readonly connectivityMode: string;
  readonly conditions: readonly { readonly type: string; readonly status: string }[];
  /** RFC 3339; absent before the first contact. */
  readonly lastContactAt?: string;
}

const HEADER = ['SLUG', 'ID', 'STATUS', 'MODE', 'CONNECTED', 'LAST CONTACT'];

/** A line for each cluster below a header line. */
export function clusterTable(clusters: readonly ListedCluster[]): string {
  return textTable([HEADER, ...clusters.map(cellsOf)]);
}

function cellsOf({ slug, id, status, connectivityMode, conditions, lastContactAt }: ListedCluster): string[] {
  const connected = conditions.find(({ type }) => type === 'Connected')?.status ?? 'Unknown';
  return [slug, id, status, connectivityMode, connected, lastContactAt ?? '-'];
}
