import { createHash } from 'node:crypto';
import type { AgentOptions, RequestOptions } from 'node:https';
import type { KubeConfig } from '@kubernetes/client-node';
import { Agent, ProxyAgent, type buildConnector, type Dispatcher } from 'undici';
import type { Clock } from '../runtime/clock.ts';
import { HTTP_1 } from '../runtime/http-1.ts';
import { SecretFilter } from './secret-filter.ts';
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
 * How long connections of a credential that was replaced stay: longer than any request may take. Only watches last longer;
 * they end then, and are opened anew with the credential of the day.
 */
export const RETIRED_MS = 60_000;

interface Pool {
  readonly dispatcher: Dispatcher;
  /** Set while another credential is in use; aborted when this one comes back. */
  retiring?: AbortController;
}

/**
 * The credential of one cluster, read again as it rotates: token files, certificates on disk, exec plugins.
 * A changed CA or client certificate gets a new connection pool. The old one is not closed, since a request may hold it that
 * has not left yet; it is destroyed when every such request has had its time.
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
  readonly #pools = new Map<string, Pool>();
  readonly #disposed = new AbortController();
  readonly #filter = new SecretFilter();

  constructor(deps: { readonly source: KubeconfigSource; readonly clock: Clock }) {
    this.#clock = deps.clock;
    this.#source = deps.source;
    this.#config = loadKubeconfig(deps.source);
    this.server = currentCluster(this.#config).server.replace(/\/+$/, '');
    this.#learn();
  }

  /** Aborted as this is disposed of: what runs ends then, and what comes later is refused. */
  get disposed(): AbortSignal {
    return this.#disposed.signal;
  }

  /** Text of a server, or about a request, without the secrets of this connection and fit to be shown. */
  clean(text: string): string {
    return this.#filter.clean(text);
  }

  async connection(): Promise<Connection> {
    this.disposed.throwIfAborted();
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
    if (this.disposed.aborted) return;
    this.#disposed.abort(new Error('the connection to the cluster was disposed of'));
    const pools = [...this.#pools.values()];
    this.#pools.clear();
    await Promise.all(pools.map(async ({ dispatcher }) => dispatcher.destroy()));
  }

  async #load(): Promise<Connection> {
    const options: RequestOptions = { headers: {} };
    try {
      if (this.#refused) this.#config = loadKubeconfig(this.#source);
      this.#refused = false;
      this.#learn();
      await this.#config.applyToHTTPSOptions(options);
    } catch (error) {
      throw invalid(this.clean(`the credential for ${this.server} cannot be read: ${messageOf(error)}`));
    }
    this.disposed.throwIfAborted();
    const headers: Record<string, string> = {};
    for (const [name, value] of Object.entries((options.headers ?? {}) as Record<string, unknown>)) {
      headers[name.toLowerCase()] = String(value).trim();
    }
    if (typeof options.auth === 'string')
      headers['authorization'] = `Basic ${Buffer.from(options.auth).toString('base64')}`;
    this.#filter.add(headers['authorization']?.replace(/^\S+\s+/, ''));
    const { key } = options;
    if (typeof key === 'string' || key instanceof Buffer) this.#filter.add(key.toString());
    const poolKey = fingerprint(options);
    const dispatcher = this.#use(poolKey, options);
    const connection = { dispatcher, headers };
    this.#current = { connection, until: this.#clock.now().getTime() + REUSE_MS };
    return connection;
  }

  /** What no message may hold: whatever the kubeconfig has that is secret. */
  #learn(): void {
    const user = this.#config.getCurrentUser();
    this.#filter.add(user?.token);
    this.#filter.add(user?.password);
    if (user?.keyData !== undefined) this.#filter.add(Buffer.from(user.keyData, 'base64').toString('utf8'));
    const { proxyUrl } = currentCluster(this.#config);
    if (proxyUrl === undefined || !URL.canParse(proxyUrl)) return;
    const { username, password } = new URL(proxyUrl);
    if (password === '') return;
    const decoded = decodeOrKeep(password);
    for (const each of [password, decoded, `${decodeOrKeep(username)}:${decoded}`]) this.#filter.add(each);
  }

  #use(poolKey: string, options: RequestOptions): Dispatcher {
    const pool = this.#pools.get(poolKey) ?? { dispatcher: this.#openPool(options) };
    pool.retiring?.abort();
    delete pool.retiring;
    this.#pools.set(poolKey, pool);
    for (const [key, old] of this.#pools) {
      if (old !== pool && old.retiring === undefined) void this.#retire(key, old);
    }
    return pool.dispatcher;
  }

  /** Never rejects. */
  async #retire(key: string, pool: Pool): Promise<void> {
    const retiring = new AbortController();
    pool.retiring = retiring;
    try {
      await this.#clock.sleep(RETIRED_MS, AbortSignal.any([retiring.signal, this.disposed]));
    } catch {
      return;
    }
    // It came back, or was disposed of, in the very moment.
    if (pool.retiring !== retiring || this.#pools.get(key) !== pool) return;
    this.#pools.delete(key);
    await pool.dispatcher.destroy();
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

function decodeOrKeep(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function fingerprint(options: RequestOptions): string {
  const hash = createHash('sha256');
  for (const part of [options.ca, options.cert, options.key, options.servername, options.rejectUnauthorized]) {
    hash.update(part instanceof Buffer ? part : JSON.stringify(part ?? null)).update('\0');
  }
  return hash.digest('hex');
}
