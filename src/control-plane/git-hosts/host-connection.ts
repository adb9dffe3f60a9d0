import type { LookupAddress } from 'node:dns';
import { isIP } from 'node:net';
import { Agent, fetch as undiciFetch, ProxyAgent, type Dispatcher } from 'undici';
import type { NativeLink } from '../../git/remote/native-link.ts';
import type { FetchLike } from '../../git/receive-pack.ts';
import { HTTP_1 } from '../../runtime/http-1.ts';
import { Secret } from '../../runtime/secret.ts';
import { isPrivateAddress } from '../channel/receiver-address.ts';
import { guardedLookup, type LookupRules } from '../guarded-lookup.ts';

const CONNECT_TIMEOUT_MS = 10_000;
/** Longer than any exchange may take; each has its own, shorter limit. */
const SILENCE_MS = 120_000;

export interface HostConnectionOptions extends LookupRules {
  readonly caCertificate?: string;
  readonly proxyUrl?: string;
}

/**
 * Connections to one Git host: by the repository's own roots and proxy, to addresses that may be called, without
 * redirects. Undici's for what this process does itself, and the same for native git.
 */
export class HostConnection implements AsyncDisposable {
  readonly #options: HostConnectionOptions;
  readonly #dispatcher: Dispatcher;
  readonly native: NativeLink;

  constructor(options: HostConnectionOptions) {
    this.#options = options;
    const { caCertificate, proxyUrl } = options;
    const ca = caCertificate === undefined ? {} : { ca: caCertificate };
    const lookup = { timeout: CONNECT_TIMEOUT_MS, lookup: guardedLookup(options) };
    const common = { ...HTTP_1, headersTimeout: SILENCE_MS, bodyTimeout: SILENCE_MS, connections: 16 };
    this.#dispatcher =
      proxyUrl === undefined
        ? new Agent({ ...common, connect: { ...lookup, ...ca } })
        : // The proxy resolves the host's name then, and decides for itself; the proxy's own address is looked at.
          new ProxyAgent({ ...common, uri: proxyUrl, requestTls: ca, proxyTls: lookup });
    this.native = {
      ...(caCertificate === undefined ? {} : { caCertificate }),
      ...(proxyUrl === undefined ? {} : { proxyUrl: new Secret(proxyUrl) }),
      resolve: async (hostname) => await this.#resolve(hostname),
    };
  }

  /** Never follows a redirect: it would take the credential elsewhere. */
  readonly fetchLike: FetchLike = async (url, init) =>
    await undiciFetch(url, {
      ...(init as unknown as Parameters<typeof undiciFetch>[1]),
      redirect: 'manual',
      dispatcher: this.#dispatcher,
    });

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#dispatcher.destroy();
  }

  async #resolve(hostname: string): Promise<string | undefined> {
    // What is reached by a proxy is resolved there; the proxy's own name is looked at in place of it.
    const { proxyUrl, allowPrivate } = this.#options;
    const name = proxyUrl === undefined ? hostname : new URL(proxyUrl).hostname.replace(/^\[(.*)\]$/, '$1');
    if (isIP(name) !== 0) {
      if (!allowPrivate && isPrivateAddress(name)) throw new Error('the address is outside of the public network');
      return undefined;
    }
    const { promise, resolve, reject } = Promise.withResolvers<readonly LookupAddress[]>();
    guardedLookup(this.#options)(name, { all: true }, (error, found) => {
      if (error !== null) reject(error);
      else resolve(Array.isArray(found) ? found : []);
    });
    const addresses = await promise;
    return proxyUrl === undefined ? addresses[0]?.address : undefined;
  }
}
