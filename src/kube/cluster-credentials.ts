import { createHash } from 'node:crypto';
import type { AgentOptions, RequestOptions } from 'node:https';
import type { KubeConfig } from '@kubernetes/client-node';
import { Agent, ProxyAgent, type buildConnector, type Dispatcher } from 'undici';
import type { Clock } from '../runtime/clock.ts';
import { HTTP_1 } from '../runtime/http-1.ts';
import { currentCluster, invalid, loadKubeconfig, messageOf, type KubeconfigSource } from './load-kubeconfig.ts';

export type { KubeconfigSource } from './load-kubeconfig.ts';

/** What one request needs, valid now. */
export interface Connection {
  readonly dispatcher: Dispatcher;
  readonly headers: Readonly<Record<string, string>>;
}

/** How long headers and certificates are reused before the files and plugins behind them are asked again. */
const REUSE_MS = 10_000;

/**
 * The credential of one cluster, read again as it rotates: token files, certificates on disk, exec plugins.
 * A changed CA or client certificate gets a new connection pool; running requests finish on the old one.
 */
export class ClusterCredentials implements AsyncDisposable {
  /** Address of the API server, without a trailing slash. */
  readonly server: string;
  readonly #source: KubeconfigSource;
  #config: KubeConfig;
  /** The server refused the credential: read the kubeconfig anew, with whatever its plugins cached. */
  #refused = false;
  readonly #clock: Clock;
  #current: { readonly connection: Connection; readonly until: number } | undefined;
  #loading: Promise<Connection> | undefined;
  readonly #pools = new Map<string, Dispatcher>();

  constructor(deps: { readonly source: KubeconfigSource; readonly clock: Clock }) {
    this.#clock = deps.clock;
    this.#source = deps.source;
    this.#config = loadKubeconfig(deps.source);
    this.server = currentCluster(this.#config).server.replace(/\/+$/, '');
  }

  async connection(): Promise<Connection> {
    const current = this.#current;
    if (current !== undefined && this.#clock.now().getTime() < current.until) return current.connection;
    this.#loading ??= this.#load().finally(() => {
      this.#loading = undefined;
    });
    return this.#loading;
  }

  /** Asks the files and plugins again at the next request: the server refused what it was given. */
  refresh(): void {
    this.#current = undefined;
    this.#refused = this.#source.kind !== 'text';
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.#pools.values()].map(async (pool) => pool.destroy()));
    this.#pools.clear();
  }

  async #load(): Promise<Connection> {
    const options: RequestOptions = { headers: {} };
    try {
      if (this.#refused) this.#config = loadKubeconfig(this.#source);
      this.#refused = false;
      await this.#config.applyToHTTPSOptions(options);
    } catch (error) {
      throw invalid(`the credential for ${this.server} cannot be read: ${messageOf(error).slice(0, 500)}`, error);
    }
    const headers: Record<string, string> = {};
    for (const [name, value] of Object.entries((options.headers ?? {}) as Record<string, unknown>)) {
      headers[name.toLowerCase()] = String(value).trim();
    }
    if (typeof options.auth === 'string')
      headers['authorization'] = `Basic ${Buffer.from(options.auth).toString('base64')}`;
    const poolKey = fingerprint(options);
    let dispatcher = this.#pools.get(poolKey);
    if (dispatcher === undefined) {
      dispatcher = this.#openPool(options);
      for (const [key, old] of this.#pools) {
        this.#pools.delete(key);
        void old.close().catch(() => undefined);
      }
      this.#pools.set(poolKey, dispatcher);
    }
    const connection = { dispatcher, headers };
    this.#current = { connection, until: this.#clock.now().getTime() + REUSE_MS };
    return connection;
  }

  #openPool(options: RequestOptions): Dispatcher {
    const { ca, cert, key, passphrase, rejectUnauthorized, servername } = options;
    const tls = { ca, cert, key, passphrase, rejectUnauthorized, servername } as AgentOptions;
    const plan = this.#config.createDispatcherOptions(currentCluster(this.#config), tls);
    // The client bounds every request's time itself, by the clock that it was given. Each watch holds a connection, three
    // in each granted namespace.
    const limits = { ...HTTP_1, headersTimeout: 0, bodyTimeout: 0, connections: 1024, keepAliveTimeout: 20_000 };
    switch (plan.type) {
      case 'agent':
        return new Agent({ ...limits, connect: { ...plan.connect, timeout: 10_000 } as buildConnector.BuildOptions });
      case 'none':
        return new Agent({ ...limits, connect: { timeout: 10_000 } });
      case 'proxy':
        return new ProxyAgent({
          ...limits,
          uri: plan.uri,
          requestTls: { ...plan.requestTls, ...HTTP_1 } as buildConnector.BuildOptions,
        });
      case 'socks':
        throw invalid(`proxy-url ${new URL(plan.uri).protocol} is not supported: use an http or https proxy`);
    }
  }
}

function fingerprint(options: RequestOptions): string {
  const hash = createHash('sha256');
  for (const part of [options.ca, options.cert, options.key, options.servername, options.rejectUnauthorized]) {
    hash.update(part instanceof Buffer ? part : JSON.stringify(part ?? null)).update('\0');
  }
  return hash.digest('hex');
}
