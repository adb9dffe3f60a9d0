import { isIP } from 'node:net';
import type { Fault } from '../../protocol/app-error.ts';
import { isPrivateAddress } from '../channel/receiver-address.ts';
import { hasOddCharacters, ODD_CHARACTERS, parseRepositoryUrl, type HostKind } from './repository-address.ts';

const LOOPBACK = ['localhost', '127.0.0.1', '::1'];
const OPEN_IT = 'SERVICE_GIT_ALLOW_PRIVATE=true allows others';

export interface HostAddresses {
  readonly url: string;
  readonly host: HostKind;
  readonly apiUrl?: string | undefined;
  readonly proxyUrl?: string | undefined;
}

/**
 * Why the addresses of a repository cannot be used. They are users' own, and the control plane calls them from where it
 * stands: without the setting only the public network, whatever a name resolves to later (`HostConnection`). Credentials
 * travel encrypted; in clear only on this machine, for tests.
 */
export function addressFaults(addresses: HostAddresses, rules: { readonly allowPrivate: boolean }): Fault[] {
  const faults: Fault[] = [];
  const { url, host, apiUrl, proxyUrl } = addresses;
  const address = parseRepositoryUrl(url);
  if (typeof address === 'string') faults.push({ path: '/url', message: address });
  else {
    const message = hostnameFault(address.hostname, address.scheme === 'http', rules);
    if (message !== undefined) faults.push({ path: '/url', message });
    if (host !== 'git' && address.owner === '')
      faults.push({ path: '/url', message: 'must name an owner and a repository' });
    if (address.scheme === 'ssh' && proxyUrl !== undefined) {
      faults.push({ path: '/proxyUrl', message: 'is for https addresses; ssh has none' });
    }
  }
  if (apiUrl !== undefined && host === 'git') {
    faults.push({ path: '/apiUrl', message: 'a plain Git host has no API', allowed: ['github', 'gitlab', 'gitea'] });
  }
  for (const [path, text, schemes] of [
    ['/apiUrl', apiUrl, ['https:', 'http:']],
    ['/proxyUrl', proxyUrl, ['http:', 'https:']],
  ] as const) {
    if (text === undefined) continue;
    const message = plainUrlFault(text, schemes, path === '/proxyUrl', rules);
    if (message !== undefined) faults.push({ path, message });
  }
  return faults;
}

function plainUrlFault(
  text: string,
  schemes: readonly string[],
  isProxy: boolean,
  rules: { readonly allowPrivate: boolean },
): string | undefined {
  if (hasOddCharacters(text)) return ODD_CHARACTERS;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !schemes.includes(url.protocol)) return 'must be an https:// address';
  if (!isProxy && (url.username !== '' || url.password !== '')) return 'must not hold a user or a password';
  if (url.search !== '' || url.hash !== '') return 'must not hold a query or a fragment';
  if (isProxy && url.pathname !== '/') return 'must be scheme, host and port alone';
  // A proxy's own connection may be plain: what goes through it is not.
  const isPlain = url.protocol === 'http:' && !isProxy;
  return hostnameFault(url.hostname.replace(/^\[(.*)\]$/, '$1'), isPlain, rules);
}

function hostnameFault(
  text: string,
  isPlain: boolean,
  { allowPrivate }: { readonly allowPrivate: boolean },
): string | undefined {
  // A name with a dot at its end is the same name.
  const hostname = text.toLowerCase().replace(/\.$/, '');
  const isLoopback = LOOPBACK.includes(hostname) || hostname.endsWith('.localhost');
  if (isPlain && !isLoopback) return 'must be https; http:// is for this machine alone';
  if (allowPrivate) return undefined;
  const isPrivate = isLoopback || (isIP(hostname) !== 0 && isPrivateAddress(hostname));
  return isPrivate ? `must be an address of the public network; ${OPEN_IT}` : undefined;
}
