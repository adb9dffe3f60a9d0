import { createHash } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { BareRepository, type MergeStrategy } from './bare-repository.ts';

/** A pull or merge request as the fake keeps it; each kind of host shows it in its own shape. */
export interface FakeRequest {
  readonly number: number;
  title: string;
  body: string;
  readonly branch: string;
  /** People may point it at another one. */
  base: string;
  /** Owner of the fork that its branch is in. */
  readonly fork?: string;
  state: 'open' | 'closed' | 'merged';
  mergeCommit?: string;
  /** Head when it was merged or closed: the branch may be gone since. */
  lastHead: string;
  closedBy?: string;
  readonly comments: string[];
  readonly createdAt: string;
  updatedAt: string;
}

export interface ApiRequest {
  readonly method: string;
  /** Below the API's root. */
  readonly path: string;
  readonly query: URLSearchParams;
  readonly body: Readonly<Record<string, unknown>>;
  readonly headers: IncomingMessage['headers'];
}

export interface ApiAnswer {
  readonly status: number;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface WebhookShape {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** What one kind of host does differently: its routes and shapes, as recorded from its documents and source. */
export interface HostKindShape {
  readonly kind: 'github' | 'gitlab' | 'gitea';
  readonly apiRoot: string;
  readonly isAuthorized: (headers: IncomingMessage['headers'], token: string) => boolean;
  readonly unauthorized: ApiAnswer;
  /** Whether it answers conditional requests for lists. */
  readonly hasEtags: boolean;
  answer(host: FakeGitHost, request: ApiRequest): Promise<ApiAnswer>;
  webhook(
    host: FakeGitHost,
    request: FakeRequest,
    action: 'opened' | 'closed' | 'reopened' | 'merged',
    secret: string,
  ): Promise<WebhookShape>;
}

export const OWNER = 'acme';
export const NAME = 'fleet';
export const TOKEN = 'glpat-or-ghp-0123456789abcdef';

/** A Git host: a bare repository behind native `git http-backend`, and beside it its REST API. One server on loopback. */
export class FakeGitHost implements AsyncDisposable {
  readonly repository: BareRepository;
  readonly shape: HostKindShape;
  readonly requests: FakeRequest[] = [];
  /** What the API was asked, in order. */
  readonly calls: { readonly method: string; readonly path: string; readonly status: number }[] = [];
  /** Answers before the API does, where it gives something. */
  intercept: ((request: ApiRequest) => ApiAnswer | undefined | Promise<ApiAnswer | undefined>) | undefined;
  /** Not merged until it is undefined again: what a branch protection says. */
  blocked: string | undefined;
  strategy: MergeStrategy = 'merge';
  token = TOKEN;
  #url = '';
  readonly #server;
  #ticks = 0;

  private constructor(shape: HostKindShape, repository: BareRepository) {
    this.shape = shape;
    this.repository = repository;
    this.#server = createServer((request, response) => {
      void this.#handle(request, response);
    });
  }

  static async start(shape: HostKindShape): Promise<FakeGitHost> {
    const host = new FakeGitHost(shape, await BareRepository.make());
    const listening = Promise.withResolvers<undefined>();
    host.#server.listen(0, '127.0.0.1', () => listening.resolve(undefined));
    await listening.promise;
    host.#url = `http://127.0.0.1:${(host.#server.address() as AddressInfo).port}`;
    return host;
  }

  get url(): string {
    return this.#url;
  }

  get apiUrl(): string {
    return `${this.#url}${this.shape.apiRoot}`;
  }

  get cloneUrl(): string {
    return `${this.#url}/${OWNER}/${NAME}.git`;
  }

  request(number: number): FakeRequest {
    const found = this.requests.find((request) => request.number === number);
    if (found === undefined) throw new Error(`the fake has no request ${number}`);
    return found;
  }

  /** Calls that changed something. */
  writes(): string[] {
    return this.calls
      .filter(({ method, status }) => method !== 'GET' && status < 300)
      .map(({ method, path }) => `${method} ${path}`);
  }

  async headOf(request: FakeRequest): Promise<string> {
    return request.state === 'open'
      ? ((await this.repository.head(request.branch)) ?? request.lastHead)
      : request.lastHead;
  }

  async add(opened: Pick<FakeRequest, 'title' | 'body' | 'branch' | 'base' | 'fork'>): Promise<FakeRequest> {
    const at = this.tick();
    const number = this.requests.length + 1;
    const lastHead = (await this.repository.head(opened.branch)) ?? '';
    const made: FakeRequest = {
      ...opened,
      number,
      state: 'open',
      lastHead,
      comments: [],
      createdAt: at,
      updatedAt: at,
    };
    this.requests.push(made);
    return made;
  }

  /** What the button of the host does. Rejects on a conflict. */
  async mergeOnHost(number: number, strategy: MergeStrategy, by = 'a-reviewer'): Promise<string> {
    const request = this.request(number);
    request.lastHead = await this.headOf(request);
    request.mergeCommit = await this.repository.merge(request.branch, request.base, strategy, request.title);
    Object.assign(request, { state: 'merged', closedBy: by, updatedAt: this.tick() });
    return request.mergeCommit;
  }

  async closeOnHost(number: number, by = 'a-reviewer'): Promise<void> {
    const request = this.request(number);
    const lastHead = await this.headOf(request);
    Object.assign(request, { state: 'closed', closedBy: by, lastHead, updatedAt: this.tick() });
  }

  retargetOnHost(number: number, base: string): void {
    Object.assign(this.request(number), { base, updatedAt: this.tick() });
  }

  reopenOnHost(number: number): void {
    Object.assign(this.request(number), { state: 'open', closedBy: undefined, updatedAt: this.tick() });
  }

  /** Sends the event as the host does. Answers the receiver's status. */
  async deliverWebhook(
    to: string,
    number: number,
    action: Parameters<HostKindShape['webhook']>[2],
    secret: string,
    change: (sent: WebhookShape) => WebhookShape = (sent) => sent,
  ): Promise<number> {
    const { headers, body } = change(await this.shape.webhook(this, this.request(number), action, secret));
    const answer = await fetch(to, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body,
    });
    await answer.arrayBuffer();
    return answer.status;
  }

  /** A later second with each call, so that the order of changes shows in the times. */
  tick(): string {
    this.#ticks += 1;
    return new Date(Date.UTC(2026, 0, 1) + this.#ticks * 1000).toISOString().replace('.000Z', 'Z');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    const closed = Promise.withResolvers<undefined>();
    this.#server.close(() => closed.resolve(undefined));
    await closed.promise;
    await this.repository[Symbol.asyncDispose]();
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', this.#url);
    const git = `/${OWNER}/${NAME}.git`;
    if (url.pathname.startsWith(`${git}/`)) {
      if (this.#mayGit(request))
        this.repository.serve(request, response, url.pathname.slice(git.length), url.search.slice(1));
      else response.writeHead(401, { 'www-authenticate': 'Basic realm="git"' }).end();
      return;
    }
    const asked: ApiRequest = {
      method: request.method ?? 'GET',
      path: url.pathname.slice(this.shape.apiRoot.length),
      query: url.searchParams,
      body: await readBody(request),
      headers: request.headers,
    };
    const answer = await this.#answer(asked).catch((error: unknown): ApiAnswer => ({
      status: 500,
      body: { message: String(error) },
    }));
    this.calls.push({ method: asked.method, path: asked.path, status: answer.status });
    const text = answer.body === undefined ? '' : JSON.stringify(answer.body);
    response.writeHead(answer.status, { 'content-type': 'application/json', ...answer.headers }).end(text);
  }

  async #answer(asked: ApiRequest): Promise<ApiAnswer> {
    const intercepted = await this.intercept?.(asked);
    if (intercepted !== undefined) return intercepted;
    if (!this.shape.isAuthorized(asked.headers, this.token)) return this.shape.unauthorized;
    const answer = await this.shape.answer(this, asked);
    if (!this.shape.hasEtags || asked.method !== 'GET' || answer.status !== 200) return answer;
    const etag = `W/"${createHash('sha256').update(JSON.stringify(answer.body)).digest('hex')}"`;
    if (asked.headers['if-none-match'] === etag) return { status: 304, headers: { etag } };
    return { ...answer, headers: { ...answer.headers, etag } };
  }

  #mayGit({ headers }: IncomingMessage): boolean {
    const [scheme, value = ''] = (headers.authorization ?? '').split(' ');
    if (scheme !== 'Basic') return false;
    return Buffer.from(value, 'base64').toString('utf8').split(':').slice(1).join(':') === this.token;
  }
}

/** A page of a list, as `page` and the given name for its size ask for it. */
export function pageOf<Item>(items: readonly Item[], query: URLSearchParams, sizeName: string): readonly Item[] {
  const size = Number(query.get(sizeName) ?? '30');
  const page = Number(query.get('page') ?? '1');
  return items.slice((page - 1) * size, page * size);
}

async function readBody(request: IncomingMessage): Promise<Readonly<Record<string, unknown>>> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const text = Buffer.concat(chunks).toString('utf8');
  return text === '' ? {} : (JSON.parse(text) as Record<string, unknown>);
}
