import { textTable } from './text-table.ts';

/** What is shown of a cluster of the admin API's list. */
export interface ListedCluster {
  readonly id: string;
  readonly slug: string;
  readonly status: string;
  readonly disabledAt?: string;
  readonly connectivityMode: string;
  readonly conditions: readonly { readonly type: string; readonly status: string; readonly reason?: string }[];
  /** RFC 3339; absent before the first contact. */
  readonly lastContactAt?: string;
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

function cellsOf(cluster: ListedCluster): string[] {
  const { slug, id, connectivityMode, conditions, lastContactAt } = cluster;
  const connected = conditions.find(({ type }) => type === 'Connected')?.status ?? 'Unknown';
  return [slug, id, statusOf(cluster), connectivityMode, connected, lastContactAt ?? '-'];
}
