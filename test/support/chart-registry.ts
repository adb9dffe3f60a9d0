import { createHash, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer as createHttpServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { issuePrivateChain } from './private-authority.ts';

export interface Asked {
  readonly path: string;
  readonly authorization: string | undefined;
  readonly ifNoneMatch: string | undefined;
}

/** What a test answers in place of the registry, unless it says `go on`. */
export type Interference = (request: IncomingMessage, response: ServerResponse) => unknown;

export interface RegistryAuth {
  readonly kind: 'basic' | 'bearer';
  readonly username: string;
  readonly password: string;
  /** Bearer: whether tokens are issued to nobody in particular. */
  readonly isPublic?: boolean;
}

/** A small OCI registry and Helm repository on loopback, over plain HTTP or TLS of a private root. */
export class ChartRegistry implements AsyncDisposable {
  /** Requests in the order in which they came, those for tokens included. */
  readonly asked: Asked[] = [];
  /** Tags by repository, as `tags/list` gives them. */
  readonly tags = new Map<string, readonly string[]>();
  /** Index by path, such as `/stable/index.yaml`. */
  readonly indices = new Map<string, string>();
  auth: RegistryAuth | undefined;
  pageSize = 1000;
  links: 'relative' | 'absolute' = 'relative';
  /** Seconds. */
  tokenLifetime = 300;
  /** Of the challenge; default: its own. */
  realm: string | undefined;
  /** Taken one a request, before anything else. */
  readonly interferences: Interference[] = [];
  /** For as long as it is set. */
  interference: Interference | undefined;
  mostAtOnce = 0;
  #atOnce = 0;
  readonly #tokens = new Set<string>();
  readonly root: string | undefined;
  readonly #server: ReturnType<typeof createHttpServer>;

  private constructor(tls?: { readonly cert: string; readonly key: string; readonly root: string }) {
    const answer = (request: IncomingMessage, response: ServerResponse): void => {
      this.#atOnce += 1;
      this.mostAtOnce = Math.max(this.mostAtOnce, this.#atOnce);
      response.on('close', () => (this.#atOnce -= 1));
      void this.#answer(request, response);
    };
    this.root = tls?.root;
    this.#server = tls === undefined ? createHttpServer(answer) : createHttpsServer(tls, answer);
  }

  static async start({ isTls = false }: { readonly isTls?: boolean } = {}): Promise<ChartRegistry> {
    const chain = isTls ? await issuePrivateChain('registry') : undefined;
    const tls = chain && { cert: `${chain.leaf}${chain.intermediate}`, key: chain.key, root: chain.root };
    const registry = new ChartRegistry(tls);
    registry.#server.listen(0, '127.0.0.1');
    await once(registry.#server, 'listening');
    return registry;
  }

  get host(): string {
    return `127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  get origin(): string {
    return `${this.root === undefined ? 'http' : 'https'}://${this.host}`;
  }

  oci(repository = 'charts/podinfo') {
    return { type: 'oci', url: `oci://${this.host}/${repository}`, name: 'podinfo' } as const;
  }

  helm(path = '/stable') {
    return { type: 'helm', url: `${this.origin}${path}`, name: 'podinfo' } as const;
  }

  /** Tokens that were issued end now. */
  endTokens(): void {
    this.#tokens.clear();
  }

  get paths(): string[] {
    return this.asked.map(({ path }) => path);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { authorization, 'if-none-match': ifNoneMatch } = request.headers;
    const url = new URL(request.url ?? '/', this.origin);
    this.asked.push({ path: `${url.pathname}${url.search}`, authorization, ifNoneMatch });
    const interference = this.interferences.shift() ?? this.interference;
    if (interference !== undefined && (await interference(request, response)) !== 'go on') return;
    if (url.pathname === '/token') return this.#token(url, authorization, response);
    if (!this.#isAllowed(authorization)) return this.#challenge(url, response);
    const [, repository] = /^\/v2\/(.+)\/tags\/list$/.exec(url.pathname) ?? [];
    if (repository !== undefined) return this.#list(repository, url, response);
    const index = this.indices.get(url.pathname);
    if (index === undefined) return void response.writeHead(404).end('nothing is here');
    const etag = `"${createHash('sha256').update(index).digest('hex').slice(0, 16)}"`;
    if (ifNoneMatch === etag) response.writeHead(304, { etag }).end();
    else response.writeHead(200, { etag, 'content-type': 'application/yaml' }).end(index);
  }

  #list(repository: string, url: URL, response: ServerResponse): void {
    const tags = this.tags.get(repository);
    if (tags === undefined) return void response.writeHead(404).end('{"errors":[{"code":"NAME_UNKNOWN"}]}');
    const size = Math.min(Number(url.searchParams.get('n') ?? this.pageSize), this.pageSize);
    const last = url.searchParams.get('last');
    const from = last === null ? 0 : tags.indexOf(last) + 1;
    const page = tags.slice(from, from + size);
    const next = `/v2/${repository}/tags/list?n=${size}&last=${encodeURIComponent(page.at(-1) ?? '')}`;
    const link = `<${this.links === 'absolute' ? this.origin : ''}${next}>; rel="next"`;
    response.writeHead(200, {
      'content-type': 'application/json',
      ...(from + size < tags.length ? { link } : {}),
    });
    response.end(JSON.stringify({ name: repository, tags: page }));
  }

  #isAllowed(authorization: string | undefined): boolean {
    if (this.auth === undefined) return true;
    if (this.auth.kind === 'basic') return authorization === this.#basic();
    return authorization?.startsWith('Bearer ') === true && this.#tokens.has(authorization.slice(7));
  }

  #challenge(url: URL, response: ServerResponse): void {
    const [, repository = ''] = /^\/v2\/(.+)\/tags\/list$/.exec(url.pathname) ?? [];
    const realm = this.realm ?? `${this.origin}/token`;
    const bearer = `Bearer realm="${realm}",service="registry.test",scope="repository:${repository}:pull"`;
    const challenge = this.auth?.kind === 'basic' ? 'Basic realm="registry"' : bearer;
    response.writeHead(401, { 'www-authenticate': challenge }).end('{"errors":[{"code":"UNAUTHORIZED"}]}');
  }

  #token(url: URL, authorization: string | undefined, response: ServerResponse): void {
    const isKnown = authorization === this.#basic();
    if (!isKnown && (authorization !== undefined || this.auth?.isPublic !== true)) {
      return void response.writeHead(401).end('no');
    }
    if (url.searchParams.get('service') !== 'registry.test') return void response.writeHead(400).end('service?');
    const token = randomUUID();
    this.#tokens.add(token);
    response.writeHead(200).end(JSON.stringify({ token, expires_in: this.tokenLifetime }));
  }

  #basic(): string {
    const { username = '', password = '' } = this.auth ?? {};
    return `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`;
  }
}

/** An index as `helm repo index` writes it, of one chart beside others. */
export function helmIndex(
  versions: readonly { readonly version: string; readonly appVersion?: string; readonly deprecated?: boolean }[],
): string {
  const items = versions.flatMap(({ version, appVersion = '1.0', deprecated = false }) => [
    '  - apiVersion: v2',
    `    appVersion: "${appVersion}"`,
    '    created: "2026-03-01T10:00:00.123456789Z"',
    '    dependencies:',
    '    - name: redis',
    '      version: 9.9.9',
    ...(deprecated ? ['    deprecated: true'] : []),
    '    description: |',
    '      of many lines',
    '',
    '      version: 8.8.8',
    '    name: podinfo',
    '    urls:',
    `    - podinfo-${version}.tgz`,
    `    version: ${version}`,
  ]);
  const other = (name: string): string[] => [`  ${name}:`, '  - name: other', '    version: 7.7.7'];
  const lines = ['apiVersion: v1', 'entries:', ...other('before'), '  podinfo:', ...items, ...other('podinfo-other')];
  return `${lines.join('\n')}\ngenerated: "2026-03-01T10:00:00Z"\n`;
}
