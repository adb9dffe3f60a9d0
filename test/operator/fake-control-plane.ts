import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer, Server as TlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { AgentConfig } from '../../src/protocol/agent-config.ts';
import { AppError } from '../../src/protocol/app-error.ts';
import type { AgentEvent } from '../../src/protocol/event.ts';
import { deriveHmacKey, verifyRequestSignature } from '../../src/protocol/hmac.ts';
import { errorBody } from '../../src/protocol/http-error.ts';
import { AGENT_MEDIA_TYPE } from '../../src/protocol/media-type.ts';
import { Secret } from '../../src/runtime/secret.ts';
import { FakeCredentials } from './fake-credentials.ts';
import { FakeJobQueue } from './fake-job-queue.ts';

export const CLUSTER_ID = 'c-0123456789abcdef';

export interface SeenRequest {
  readonly method: string;
  readonly path: string;
  readonly authorization: string | undefined;
  readonly headers: IncomingMessage['headers'];
  readonly body: unknown;
}

export function aConfig(change: Partial<AgentConfig> = {}): AgentConfig {
  return {
    cluster_id: CLUSTER_ID,
    allowed_namespaces: ['shop'],
    catalog_entries: [],
    operation_templates: [],
    connectivity_mode: 'pull',
    delivery_epoch: 1,
    intervals: { rotate_seconds: 604_800, heartbeat_seconds: 3600, event_batch_ms: 5, event_batch_size: 100 },
    security: { requireSignedPayloads: false, requireEncryptedSecretPayloads: false },
    signing_public_keys: {
      keys: [{ kty: 'OKP', crv: 'Ed25519', x: '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo', kid: 'k1' }],
    },
    ...change,
  };
}

/** PEM texts. */
export interface ServerTls {
  readonly cert: string;
  readonly key: string;
}

type Intercept = (request: SeenRequest, response: ServerResponse) => boolean;

/** Speaks the agent protocol over real HTTP: register, held config, events with their MAC; and misbehaves on demand. */
export class FakeControlPlane implements AsyncDisposable {
  readonly requests: SeenRequest[] = [];
  readonly events: AgentEvent[] = [];
  readonly accounts = new Map<string, 'fresh' | 'used' | 'expired'>();
  /** Bearer tokens that are accepted. */
  readonly tokens = new Set<string>();
  /** Sees every request first; true: it has answered. */
  intercept: Intercept = () => false;
  #config: AgentConfig;
  #revision = 1;
  readonly #held = new Set<() => void>();
  /** What a registration is answered. */
  caCertificate = '';
  /** Of the next credential. */
  rotateAfter = '2126-12-05T00:00:00.000Z';
  readonly credentials = new FakeCredentials(this.tokens);
  readonly queue = new FakeJobQueue((response, status, body) => this.answer(response, status, body));
  readonly #server: Server | TlsServer;

  private constructor(tls: ServerTls | undefined, config: Partial<AgentConfig>) {
    this.#config = aConfig(config);
    const take = (request: IncomingMessage, response: ServerResponse): void => {
      this.#take(request, response).catch((error: unknown) => this.#refuse(response, error));
    };
    this.#server = tls === undefined ? createServer(take) : createTlsServer(tls, take);
  }

  static async start(tls?: ServerTls, config: Partial<AgentConfig> = {}): Promise<FakeControlPlane> {
    const plane = new FakeControlPlane(tls, config);
    await plane.listen(0);
    return plane;
  }

  get url(): string {
    const scheme = this.#server instanceof TlsServer ? 'https' : 'http';
    return `${scheme}://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async listen(port: number): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#server.listen(port, '127.0.0.1', resolve);
    });
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise<void>((resolve) => {
      this.#server.close(() => resolve());
    });
  }

  /** Serves with another certificate from now on, to whoever connects again. */
  useCertificate(tls: ServerTls): void {
    if (!(this.#server instanceof TlsServer)) throw new Error('this one speaks plain HTTP');
    this.#server.setSecureContext(tls);
    this.#server.closeAllConnections();
  }

  configure(change: Partial<AgentConfig>): void {
    this.#config = { ...this.#config, ...change };
    this.#revision += 1;
    for (const answer of this.#held) answer();
    this.queue.wake();
  }

  /** As an admin does: no credential is accepted, and none is given. */
  revoke(): void {
    this.tokens.clear();
    this.credentials.publicKey = undefined;
  }

  /** As it was in an earlier backup: its revisions begin again from there. */
  restoreTo(change: Partial<AgentConfig>): void {
    this.#revision = 0;
    this.configure(change);
  }

  count(path: string): number {
    return this.requests.filter((request) => request.path.startsWith(path)).length;
  }

  answer(response: ServerResponse, status: number, body?: unknown, headers: Record<string, string> = {}): void {
    const type = body === undefined ? {} : { 'content-type': AGENT_MEDIA_TYPE };
    response.writeHead(status, { ...type, 'service-config-revision': String(this.#revision), ...headers });
    response.end(body === undefined ? undefined : JSON.stringify(body));
  }

  refuse(response: ServerResponse, code: ConstructorParameters<typeof AppError>[0], message: string): void {
    this.#refuse(response, new AppError(code, message));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  #refuse(response: ServerResponse, error: unknown): void {
    const { status, body, retryAfterSeconds } = errorBody(error, 'req-1');
    const wait: Record<string, string> =
      retryAfterSeconds === undefined ? {} : { 'retry-after': String(retryAfterSeconds) };
    this.answer(response, status, body, wait);
  }

  async #take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part as Buffer);
    const text = Buffer.concat(parts).toString('utf8');
    const seen: SeenRequest = {
      method: request.method ?? '',
      path: request.url ?? '',
      authorization: request.headers.authorization,
      headers: request.headers,
      body: text === '' ? undefined : JSON.parse(text),
    };
    this.requests.push(seen);
    if (this.intercept(seen, response)) return;
    if (seen.path === '/api/agent/register') return this.#register(seen, response);
    if (seen.path === '/api/agent/credentials/recover') {
      return this.answer(response, 200, { ...(await this.credentials.recover()), ...this.#times() });
    }
    const token = seen.authorization?.replace(/^Bearer /, '') ?? '';
    if (!this.tokens.has(token)) throw new AppError('invalid_token', 'this token is not known');
    if (seen.path === '/api/agent/credentials/rotate') {
      return this.answer(response, 200, { token: this.credentials.rotate(token, seen.body), ...this.#times() });
    }
    this.credentials.use(token);
    if (seen.path.startsWith('/api/agent/config')) return this.#hold(seen, response);
    if (seen.path.startsWith('/api/agent/jobs?')) {
      const known = seen.headers['service-config-revision'];
      this.queue.poll(seen.path, response);
      // Told at once of a configuration that came between its last call and this one, as the real one does.
      if (known !== undefined && known !== String(this.#revision)) this.queue.wake();
      return;
    }
    const header = seen.headers['service-signature'];
    verifyRequestSignature({
      key: deriveHmacKey(new Secret(token), CLUSTER_ID),
      method: seen.method,
      path: seen.path,
      body: seen.body,
      header: typeof header === 'string' ? header : undefined,
      now: new Date(),
    });
    if (seen.path.startsWith('/api/agent/jobs/')) return this.queue.write(seen.path, seen.body, response);
    this.events.push(...(seen.body as { events: AgentEvent[] }).events);
    this.answer(response, 204);
  }

  #register(seen: SeenRequest, response: ServerResponse): void {
    const { token } = seen.body as { token: string };
    const account = this.accounts.get(token);
    if (account === undefined) throw new AppError('invalid_token', 'this registration token is not known');
    if (account === 'used') throw new AppError('registration_token_used', 'this token was used');
    if (account === 'expired') throw new AppError('registration_token_expired', 'this token expired');
    this.accounts.set(token, 'used');
    this.tokens.clear();
    const bearer = this.credentials.mint(seen.body);
    this.answer(response, 200, {
      cluster_id: CLUSTER_ID,
      token: bearer,
      ...this.#times(),
      connectivity_mode: this.#config.connectivity_mode,
      signing_public_keys: this.#config.signing_public_keys,
      ca_certificate: this.caCertificate,
    });
  }

  #times(): { readonly expires_at: string; readonly rotate_after: string } {
    return { expires_at: '2126-12-28T00:00:00.000Z', rotate_after: this.rotateAfter };
  }

  #hold(seen: SeenRequest, response: ServerResponse): void {
    const tag = (): string => `"${this.#revision}"`;
    const wait = Number(new URL(seen.path, 'http://localhost').searchParams.get('wait') ?? 30);
    if (seen.headers['if-none-match'] !== tag()) {
      this.answer(response, 200, this.#config, { etag: tag() });
      return;
    }
    const finish = (status: number): void => {
      clearTimeout(timer);
      this.#held.delete(changed);
      if (status === 304) this.answer(response, 304, undefined, { etag: tag() });
      else this.answer(response, 200, this.#config, { etag: tag() });
    };
    const changed = (): void => finish(200);
    const timer = setTimeout(() => finish(304), wait * 1000);
    this.#held.add(changed);
    response.once('close', () => {
      clearTimeout(timer);
      this.#held.delete(changed);
    });
  }
}
