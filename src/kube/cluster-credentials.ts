import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { AgentOptions, RequestOptions } from 'node:https';
import { KubeConfig, type Cluster } from '@kubernetes/client-node';
import { Agent, ProxyAgent, type buildConnector, type Dispatcher } from 'undici';
import type { Clock } from '../runtime/clock.ts';
import { KubeError } from './cluster-api.ts';
import { KUBECONFIG_INVALID } from './kube-fault.ts';

/** Where the way to the API server and the credential come from. */
export type KubeconfigSource =
  | { readonly kind: 'file'; readonly path: string }
  /** From a request or a store: must hold everything inline, and may not run commands or read files of this machine. */
  | { readonly kind: 'text'; readonly yaml: string }
  | { readonly kind: 'in-cluster' };

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
  readonly #config: KubeConfig;
  readonly #clock: Clock;
  #current: { readonly connection: Connection; readonly poolKey: string; readonly until: number } | undefined;
  #loading: Promise<Connection> | undefined;
  readonly #pools = new Map<string, Dispatcher>();

  constructor(deps: { readonly source: KubeconfigSource; readonly clock: Clock }) {
    this.#clock = deps.clock;
    this.#config = loadKubeconfig(deps.source);
    this.server = currentCluster(this.#config).server.replace(/\/+$/, '');
  }

  async connection(): Promise<Connection> {
    if (this.#current !== undefined && this.#clock.now().getTime() < this.#current.until)
      return this.#current.connection;
    this.#loading ??= this.#load().finally(() => {
      this.#loading = undefined;
    });
    return this.#loading;
  }

  /** Asks the files and plugins again at the next request: the server refused what it was given. */
  refresh(): void {
    this.#current = undefined;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.#pools.values()].map(async (pool) => pool.destroy()));
    this.#pools.clear();
  }

  async #load(): Promise<Connection> {
    const options: RequestOptions = { headers: {} };
    try {
      await this.#config.applyToHTTPSOptions(options);
    } catch (error) {
      throw invalid(`the credential for ${this.server} cannot be read: ${messageOf(error)}`, error);
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
    this.#current = { connection, poolKey, until: this.#clock.now().getTime() + REUSE_MS };
    return connection;
  }

  #openPool(options: RequestOptions): Dispatcher {
    const { ca, cert, key, passphrase, rejectUnauthorized, servername } = options;
    const tls = { ca, cert, key, passphrase, rejectUnauthorized, servername } as AgentOptions;
    const plan = this.#config.createDispatcherOptions(currentCluster(this.#config), tls);
    // The client bounds every request's time itself, by the clock that it was given.
    const limits = { headersTimeout: 0, bodyTimeout: 0, connections: 256, keepAliveTimeout: 20_000 };
    switch (plan.type) {
      case 'agent':
        return new Agent({ ...limits, connect: { ...plan.connect, timeout: 10_000 } as buildConnector.BuildOptions });
      case 'none':
        return new Agent({ ...limits, connect: { timeout: 10_000 } });
      case 'proxy':
        return new ProxyAgent({ ...limits, uri: plan.uri, requestTls: plan.requestTls as buildConnector.BuildOptions });
      case 'socks':
        throw invalid(`proxy-url ${new URL(plan.uri).protocol} is not supported: use an http or https proxy`);
    }
  }
}

function loadKubeconfig(source: KubeconfigSource): KubeConfig {
  const config = new KubeConfig();
  try {
    switch (source.kind) {
      case 'in-cluster':
        config.loadFromCluster();
        break;
      case 'file':
        config.loadFromString(readFileSync(source.path, 'utf8'));
        config.makePathsAbsolute(source.path.replace(/[^/]*$/, ''));
        break;
      case 'text':
        config.loadFromString(source.yaml);
        break;
    }
  } catch (error) {
    throw invalid(`${nameOf(source)} cannot be read: ${messageOf(error)}`, error);
  }
  const cluster = config.getCurrentCluster();
  const user = config.getCurrentUser();
  if (cluster === null || user === null) {
    throw invalid(`${nameOf(source)} names no cluster and user in its current-context "${config.getCurrentContext()}"`);
  }
  if (source.kind === 'text' && (user.exec !== undefined || user.authProvider !== undefined)) {
    throw invalid(
      `${nameOf(source)}: user "${user.name}" runs a command or plugin; give a token or a client certificate`,
    );
  }
  if (source.kind === 'text' && (cluster.caFile ?? user.certFile ?? user.keyFile) !== undefined) {
    throw invalid(`${nameOf(source)} points at files; embed them with "kubectl config view --raw --flatten"`);
  }
  const server = serverOf(cluster, source);
  if (server.protocol === 'https:') return config;
  const plain = new KubeConfig();
  // There is no certificate to verify on a loopback http address; the library wants that said.
  plain.loadFromClusterAndUser({ ...cluster, skipTLSVerify: true }, user);
  return plain;
}

function serverOf(cluster: Cluster, source: KubeconfigSource): URL {
  if (!URL.canParse(cluster.server)) throw invalid(`${nameOf(source)}: server "${cluster.server}" is not a URL`);
  const url = new URL(cluster.server);
  const loopback = ['127.0.0.1', 'localhost', '[::1]'].includes(url.hostname);
  if (url.protocol !== 'https:' && !(url.protocol === 'http:' && loopback)) {
    throw invalid(`${nameOf(source)}: server ${url.origin} must be https (plain http is for loopback addresses only)`);
  }
  return url;
}

function currentCluster(config: KubeConfig): Cluster {
  const cluster = config.getCurrentCluster();
  if (cluster === null) throw invalid('the kubeconfig has no current cluster');
  return cluster;
}

function nameOf(source: KubeconfigSource): string {
  if (source.kind === 'file') return `kubeconfig ${source.path}`;
  return source.kind === 'text' ? 'the kubeconfig given as text' : 'the in-cluster service account';
}

function invalid(message: string, cause?: unknown): KubeError {
  return new KubeError(message, { status: 0, reason: KUBECONFIG_INVALID, ...(cause === undefined ? {} : { cause }) });
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message.trim() : String(error);
}

function fingerprint(options: RequestOptions): string {
  const hash = createHash('sha256');
  for (const part of [options.ca, options.cert, options.key, options.servername, options.rejectUnauthorized]) {
    hash.update(part instanceof Buffer ? part : JSON.stringify(part ?? null)).update('\0');
  }
  return hash.digest('hex');
}
