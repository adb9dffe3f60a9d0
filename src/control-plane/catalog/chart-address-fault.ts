import { chartUrlFault, type ChartSource } from '../../protocol/chart.ts';
import { ociAddress } from './registry-address.ts';

/** Why nothing could be had of an address, whatever is there; undefined: something may. */
export function chartAddressFault(chart: ChartSource): string | undefined {
  const { type, url } = chart;
  const scheme = type === 'oci' ? 'oci://' : 'http';
  if (!url.startsWith(scheme)) {
    return `must begin with ${type === 'oci' ? 'oci://' : 'https:// or http://'} for type ${type}`;
  }
  const fault = chartUrlFault(url);
  if (fault !== undefined) return fault;
  if (/[^\x21-\x7e]|\\/.test(url)) return 'must be of printable ASCII characters without a backslash';
  if (type === 'oci') {
    return ociAddress(chart) === undefined
      ? 'must be oci://host/path/chart: a host, and the name of a repository, in lower case and without a tag'
      : undefined;
  }
  if (!/^https?:\/\/[^/]/.test(url) || !URL.canParse(url)) return 'must have a host, and a port up to 65535 if any';
  return /\/(\.|%2e){1,2}(\/|$)/i.test(url) ? "must have no '.' and no '..' in its path" : undefined;
}
