import { isIP } from 'node:net';
import type { ChartSource } from '../../protocol/chart.ts';
import { isPrivateAddress } from '../channel/receiver-address.ts';

const LOOPBACK = ['localhost', '127.0.0.1', '::1'];
const OPEN_IT = 'SERVICE_CATALOG_ALLOW_PRIVATE=true allows others';

function hostOf({ hostname }: URL): string {
  // A name with a dot at its end is the same name.
  return hostname
    .toLowerCase()
    .replace(/\.$/, '')
    .replace(/^\[(.*)\]$/, '$1');
}

/** On this machine: what is sent there in clear is seen by nobody else. */
export function isLoopback(url: URL): boolean {
  const host = hostOf(url);
  return LOOPBACK.includes(host) || host.endsWith('.localhost');
}

/**
 * Why an address is not called; undefined: it may be. What its name resolves to is looked at when it is called
 * (`guardedLookup`).
 */
export function addressFault(url: URL, { allowPrivate }: { readonly allowPrivate: boolean }): string | undefined {
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return 'is not an https:// address';
  if (url.username !== '' || url.password !== '') return 'holds a user or a password';
  if (allowPrivate) return undefined;
  const host = hostOf(url);
  if (isLoopback(url) || (isIP(host) !== 0 && isPrivateAddress(host))) {
    return `is not an address of the public network; ${OPEN_IT}`;
  }
  return undefined;
}

/** Where an OCI registry's API is (`https://host`), and the name of the chart's repository there. */
export function ociAddress({ url }: ChartSource): { readonly base: URL; readonly repository: string } | undefined {
  const [, host = '', path = ''] = /^oci:\/\/([^/]+)\/(.+?)\/*$/.exec(url) ?? [];
  const base = `https://${host === 'docker.io' ? 'registry-1.docker.io' : host}`;
  if (!REPOSITORY.test(path) || !URL.canParse(base)) return undefined;
  return { base: new URL(base), repository: path };
}

/** `<name>` of the OCI distribution specification ("Pulling manifests"). */
const REPOSITORY = /^[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*(\/[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*)*$/;

/** `index.yaml` of a Helm repository. */
export function helmIndexAddress({ url }: ChartSource): URL | undefined {
  const text = `${url.replace(/\/+$/, '')}/index.yaml`;
  return URL.canParse(text) ? new URL(text) : undefined;
}

/** Which host is asked, for taking turns at it. */
export function chartHost({ type, url }: ChartSource): string {
  const text = type === 'oci' ? url.replace(/^oci:/, 'https:') : url;
  return URL.canParse(text) ? new URL(text).host : url;
}

/** Whether what is sent there travels in clear over a network. */
export function isPlain(chart: ChartSource): boolean {
  return (
    chart.type === 'helm' && /^http:/i.test(chart.url) && URL.canParse(chart.url) && !isLoopback(new URL(chart.url))
  );
}
