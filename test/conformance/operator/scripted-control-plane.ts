import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { signatureOf, unknownToken } from '../agent-identity.ts';
import { AGENT_MEDIA_TYPE } from '../cluster-client.ts';
import { signingKey, type ScriptedKey } from './scripted-key.ts';

export const CLUSTER_ID = 'c-0123456789abcdef';

/** A request as it came, and what was wrong with its MAC, if it is one that needs it. */
export interface Seen {
  readonly atMs: number;
  readonly method: string;
  /** Path and query. */
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: unknown;
  readonly macFault: string | undefined;
}

/** What a fault does with a request: an answer of its own, or none at all. */
export type Scripted =
  | {
      readonly status: number;
      readonly headers?: Readonly<Record<string, string>>;
      readonly body?: string | Buffer;
      readonly delayMs?: number;
    }
  | 'cut';

type Script = (seen: Seen) => Scripted | undefined | Promise<Scripted | undefined>;

/** An error of the protocol. */
export function refusal(status: number, error: string, headers: Record<string, string> = {}): Scripted {
  const body = JSON.stringify({ error, message: `scripted ${error}`, requestId: 'req-1' });
  return { status, headers: { 'content-type': AGENT_MEDIA_TYPE, ...headers }, body };
}

/**
 * A control plane that does what a check says: it offers jobs until they are acknowledged, takes one result for each, and
 * fails on request. Written from the documents, and remembers all that came.
 */
export class ScriptedControlPlane implements AsyncDisposable {
  readonly seen: Seen[] = [];
  readonly key: ScriptedKey = signingKey();
  token = unknownToken('svcagt');
  /** Sees every request first. */
  script: Script = () => undefined;
  /** What is remembered of a request: the tests of the checks put a wrong operator in the place of the real one. */
  spoil: (seen: Seen) => readonly Seen[] = (seen) => [seen];
  config: Record<string, unknown>;
  revision = 1;
  rotations = 0;
  readonly #jobs = new Map<string, Record<string, unknown>>();
  readonly #held = new Map<ServerResponse, () => void>();
  /** Most requests that were held at once. */
  mostHeld = 0;
  readonly #server = createServer((request, response) => {
    this.#take(request, response).catch(() => response.destroy());
  });

  private constructor() {
    this.config = {
      cluster_id: CLUSTER_ID,
      allowed_namespaces: ['shop'],
      catalog_entries: [],
      operation_templates: [],
      connectivity_mode: 'pull',
      delivery_epoch: 1,
      intervals: { rotate_seconds: 604_800, heartbeat_seconds: 3600, event_batch_ms: 20, event_batch_size: 100 },
      security: { requireSignedPayloads: false, requireEncryptedSecretPayloads: false },
      signing_public_keys: { keys: [this.key.publicJwk] },
      later_field: { of: 'a later version' },
    };
  }

  static async start(): Promise<ScriptedControlPlane> {
    const plane = new ScriptedControlPlane();
    await new Promise<void>((resolve) => {
      plane.#server.listen(0, '127.0.0.1', resolve);
    });
    return plane;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Offers jobs with the next poll, one that is held included. */
  offer(...jobs: readonly Record<string, unknown>[]): void {
    for (const job of jobs) this.#jobs.set(String(job['id']), job);
    this.wake();
  }

  /** Changes what config says. */
  configure(change: Readonly<Record<string, unknown>>): void {
    this.config = { ...this.config, ...change };
    this.revision += 1;
    this.wake();
  }

  /** Answers what is held. */
  wake(): void {
    for (const answer of this.#held.values()) answer();
  }

  /** Requests whose method and path fit, such as `POST /api/agent/jobs/j1/ack`. */
  requests(pattern: RegExp, from = 0): Seen[] {
    return this.seen.slice(from).filter(({ method, path }) => pattern.test(`${method} ${path}`));
  }

  /** `ack`, `status`, `result` of a job in the order in which they came. */
  said(jobId: string): string[] {
    return this.requests(new RegExp(`^POST /api/agent/jobs/${jobId}/`)).map(({ path }) => path.split('/').at(-1) ?? '');
  }

  results(jobId: string): Record<string, unknown>[] {
    return this.requests(new RegExp(`^POST /api/agent/jobs/${jobId}/result$`)).map(
      ({ body }) => body as Record<string, unknown>,
    );
  }

  /** Events of all posts that came, refused ones too. */
  events(kind: string): Record<string, unknown>[] {
    return this.requests(/^POST \/api\/agent\/events$/)
      .flatMap(({ body }) => (body as { events: Record<string, unknown>[] }).events)
      .filter((event) => event['kind'] === kind);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise<void>((resolve) => {
      this.#server.close(() => resolve());
    });
  }

  async #take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part as Buffer);
    const text = Buffer.concat(parts).toString('utf8');
    const { method = '', url: path = '', headers } = request;
    const body: unknown = text === '' ? undefined : JSON.parse(text);
    const macFault = this.#macFault(method, path, headers, body);
    const seen: Seen = { atMs: Date.now(), method, path, headers, body, macFault };
    this.seen.push(...this.spoil(seen));
    const scripted = await this.script(seen);
    if (scripted === 'cut') request.socket.destroy();
    else if (scripted !== undefined) await send(response, scripted);
    else this.#answer(seen, response);
  }

  #answer({ path, body, headers }: Seen, response: ServerResponse): void {
    const times = { expires_at: inDays(30), rotate_after: inDays(6) };
    const [, jobId, what] = /^\/api\/agent\/jobs\/([^/]+)\/(ack|status|result)$/.exec(path) ?? [];
    if (path === '/api/agent/register') {
      const identity = { cluster_id: CLUSTER_ID, token: this.token, connectivity_mode: 'pull', ca_certificate: '' };
      this.#reply(response, 200, { ...identity, ...times, signing_public_keys: { keys: [this.key.publicJwk] } });
    } else if (headers.authorization !== `Bearer ${this.token}`) {
      this.#reply(response, 401, { error: 'invalid_token', message: 'not known', requestId: 'req-1' });
    } else if (path === '/api/agent/credentials/rotate') {
      this.rotations += 1;
      this.token = unknownToken('svcagt');
      this.#reply(response, 200, { token: this.token, ...times });
    } else if (path.startsWith('/api/agent/config')) {
      const etag = `"${this.revision}"`;
      const answer = (): void => this.#reply(response, 200, this.config, { etag: `"${this.revision}"` });
      if (headers['if-none-match'] === etag) {
        this.#hold(path, response, () => (etag === `"${this.revision}"` ? this.#reply(response, 304) : answer()));
      } else answer();
    } else if (path.startsWith('/api/agent/jobs?')) {
      const offer = (): void => this.#reply(response, 200, { jobs: [...this.#jobs.values()], later: true });
      if (this.#jobs.size > 0) offer();
      else this.#hold(path, response, offer);
    } else {
      // What was acknowledged once is offered until the next ack: a late result of the time before is no answer to it.
      const isAnswer = jobId !== undefined && (what === 'ack' || !this.said(jobId).includes('ack'));
      if (isAnswer && what !== undefined) this.#jobs.delete(jobId);
      this.#reply(response, body === undefined && what !== 'ack' ? 400 : 204);
    }
  }

  #hold(path: string, response: ServerResponse, answer: () => void): void {
    const seconds = Number(new URL(path, 'http://localhost').searchParams.get('wait') ?? 30);
    const finish = (): void => {
      clearTimeout(timer);
      if (this.#held.delete(response)) answer();
    };
    const timer = setTimeout(finish, seconds * 1000);
    response.once('close', () => {
      clearTimeout(timer);
      this.#held.delete(response);
    });
    this.#held.set(response, finish);
    this.mostHeld = Math.max(this.mostHeld, this.#held.size);
  }

  #reply(response: ServerResponse, status: number, body?: unknown, headers: Record<string, string> = {}): void {
    const type: Record<string, string> = body === undefined ? {} : { 'content-type': AGENT_MEDIA_TYPE };
    response.writeHead(status, { ...type, 'service-config-revision': String(this.revision), ...headers });
    response.end(body === undefined ? undefined : JSON.stringify(body));
  }

  #macFault(method: string, path: string, headers: IncomingMessage['headers'], body: unknown): string | undefined {
    if (method !== 'POST' || /\/(register|rotate|recover)$/.test(path)) return undefined;
    const header = String(headers['service-signature']);
    const atSeconds = Number(/^v1,t=(\d+),/.exec(header)?.[1]);
    if (Number.isNaN(atSeconds)) return `Service-Signature ${header}`;
    if (Math.abs(atSeconds - Date.now() / 1000) > 300) return `t is ${atSeconds}`;
    const token = String(headers.authorization).replace(/^Bearer /, '');
    const expected = signatureOf({ token, clusterId: CLUSTER_ID, method, target: path, body, atSeconds });
    return header === expected ? undefined : 'the MAC does not fit';
  }
}

async function send(response: ServerResponse, scripted: Exclude<Scripted, 'cut'>): Promise<void> {
  const { status, headers = {}, body, delayMs = 0 } = scripted;
  if (delayMs > 0) await new Promise((resolve) => setTimeout(resolve, delayMs));
  response.writeHead(status, headers);
  response.end(body);
}

function inDays(days: number): string {
  return new Date(Date.now() + days * 86_400_000).toISOString();
}
