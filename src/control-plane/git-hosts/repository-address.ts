import { isSshAddress } from '../../git/remote/ssh-process.ts';
import type { RepositoryRow } from '../store/schema.ts';

export type HostKind = NonNullable<RepositoryRow['host']>;

/** Where a repository of another host is. */
export interface RepositoryAddress {
  readonly scheme: 'https' | 'http' | 'ssh';
  /** Without brackets. */
  readonly hostname: string;
  readonly port: number | undefined;
  /** `group/subgroup/project`: the path without slashes around it and without `.git`. */
  readonly projectPath: string;
  /** All but the last part of the path. */
  readonly owner: string;
  readonly name: string;
}

const SCP_LIKE = /^(?:([A-Za-z0-9._-]+)@)?([A-Za-z0-9][A-Za-z0-9.-]*):(?!\/\/)\/?([^\s]+)$/;
/** What a shell of the host's could misread is refused: ssh hands the path to it as text. */
const PATH = /^(?!-)[A-Za-z0-9._~/+@-]{1,400}$/;

/**
 * Reads `https://…`, `ssh://user@host:port/path` and `user@host:path`.
 *
 * @returns why it cannot be an address, as the message of a fault, where it cannot
 */
export function parseRepositoryUrl(text: string): RepositoryAddress | string {
  if (hasOddCharacters(text)) return ODD_CHARACTERS;
  const url = SCP_LIKE.test(text) ? sshUrl(text) : URL.canParse(text) ? new URL(text) : undefined;
  const scheme = url?.protocol.slice(0, -1);
  if (url === undefined || (scheme !== 'https' && scheme !== 'http' && scheme !== 'ssh')) {
    return 'must be https://host/path, ssh://user@host/path or user@host:path';
  }
  if (url.password !== '' || (scheme !== 'ssh' && url.username !== '')) {
    return 'must not hold a user or a password; they belong into the credential';
  }
  // As the operators take it: nothing in it that ssh, git or a shell could read otherwise.
  if (scheme === 'ssh' && !isSshAddress(text)) return 'must be ssh://user@host:port/path or user@host:path';
  if (url.search !== '' || url.hash !== '') return 'must not hold a query or a fragment';
  const path = url.pathname.replace(/^\/+|\/+$/g, '');
  const parts = path.split('/');
  // The parser takes `..` away, also where it is written `%2e%2e`: the text itself is looked at.
  if (!PATH.test(path) || parts.includes('') || /%|[:/]\.{1,2}(?:\/|$)/.test(text)) {
    return 'must name a repository by letters, digits and . _ ~ + @ - alone';
  }
  const projectPath = path.replace(/\.git$/, '');
  return {
    scheme,
    hostname: url.hostname.replace(/^\[(.*)\]$/, '$1'),
    port: url.port === '' ? undefined : Number(url.port),
    projectPath,
    owner: projectPath.split('/').slice(0, -1).join('/'),
    name: projectPath.split('/').at(-1) ?? '',
  };
}

export const ODD_CHARACTERS = 'must not hold spaces or control characters';

/** A parser passes these over, and whoever reads the text itself does not. */
export function hasOddCharacters(text: string): boolean {
  return /[\s\p{Cc}]/u.test(text);
}

/** An address that was found to be one, as its parser reads it: what was judged is what is called. */
export function normalUrl(text: string): string {
  return !SCP_LIKE.test(text) && URL.canParse(text) ? new URL(text).href : text;
}

function sshUrl(text: string): URL | undefined {
  const [, user, host, path] = SCP_LIKE.exec(text) ?? [];
  const url = `ssh://${user === undefined ? '' : `${user}@`}${host}/${path}`;
  return URL.canParse(url) ? new URL(url) : undefined;
}

/** Where the host's API is unless the admin says otherwise; undefined for a host that has none. */
export function defaultApiUrl(host: HostKind, address: RepositoryAddress): string | undefined {
  // The port of ssh says nothing of the API's.
  const { scheme, hostname, port } =
    address.scheme === 'ssh' ? { ...address, scheme: 'https', port: undefined } : address;
  const authority = `${hostname.includes(':') ? `[${hostname}]` : hostname}${port === undefined ? '' : `:${port}`}`;
  if (host === 'github') {
    return hostname === 'github.com' || hostname === 'ssh.github.com'
      ? 'https://api.github.com'
      : `${scheme}://${authority}/api/v3`;
  }
  if (host === 'gitlab') return `${scheme}://${authority}/api/v4`;
  if (host === 'gitea') return `${scheme}://${authority}/api/v1`;
  return undefined;
}

/** The repository's page, for people. */
export function webUrlOf(address: RepositoryAddress): string | undefined {
  if (address.scheme === 'ssh') return `https://${address.hostname}/${address.projectPath}`;
  const port = address.port === undefined ? '' : `:${address.port}`;
  const host = address.hostname.includes(':') ? `[${address.hostname}]` : address.hostname;
  return `${address.scheme}://${host}${port}/${address.projectPath}`;
}
