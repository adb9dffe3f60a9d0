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

const GAP = 3;
const HEADER = ['SLUG', 'ID', 'STATUS', 'MODE', 'CONNECTED', 'LAST CONTACT'];

/** A line for each cluster below a header line, in columns as `kubectl get` prints them. */
export function clusterTable(clusters: readonly ListedCluster[]): string {
  const rows = [HEADER, ...clusters.map(cellsOf)];
  const widths = HEADER.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)) + GAP);
  return rows
    .map(
      (row) =>
        `${row
          .map((cell, column) => cell.padEnd(widths[column] ?? 0))
          .join('')
          .trimEnd()}\n`,
    )
    .join('');
}

function cellsOf({ slug, id, status, connectivityMode, conditions, lastContactAt }: ListedCluster): string[] {
  const connected = conditions.find(({ type }) => type === 'Connected')?.status ?? 'Unknown';
  return [slug, id, status, connectivityMode, connected, lastContactAt ?? '-'];
}
