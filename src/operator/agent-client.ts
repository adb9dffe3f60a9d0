import { Agent, request } from 'undici';
import { CONFIG_REVISION_HEADER, SERVICE_VERSION_HEADER, SIGNATURE_HEADER } from '../protocol/agent-config.ts';
import { deriveHmacKey, signRequest } from '../protocol/hmac.ts';
import { AGENT_MEDIA_TYPE } from '../protocol/media-type.ts';
import type { Clock } from '../runtime/clock.ts';
import { HTTP_1 } from '../runtime/http-1.ts';
import type { Secret } from '../runtime/secret.ts';
import { classifyAnswer, headerOf, type AgentAnswer, type RawAnswer } from './agent-answer.ts';

/** One call of the agent API. `path` is below the base URL and holds its query. */
export interface AgentCall {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly body?: Readonly<Record<string, unknown>>;
  readonly ifNoneMatch?: string;
  /** `Service-Config-Revision` that the caller knows of: a held poll ends at once where there is a newer one. */
  readonly configRevision?: string;
  /** The server may hold the request for so long, in seconds. */
  readonly holdSeconds?: number;
}

/** Whom the operator speaks as. */
export interface AgentIdentity {
  readonly token: Secret;
  readonly clusterId: string;
}

/** What a client shows of itself: both PEM. */
export interface ClientCertificate {
  readonly certificate: string;
  readonly key: Secret;
}

export interface AgentClientDeps {
  readonly baseUrl: string;
  /** PEM roots that the server's certificate must chain to; empty: the system's. */
  readonly caCertificate: string;
  readonly clientCertificate?: ClientCertificate;
  readonly userAgent: string;
  readonly clock: Clock;
  /** How long to wait for an answer, on top of the time for which it may be held (default 10 s). */
  readonly answerTimeoutMs?: number;
  /** Called right before anything but a GET leaves; what it throws ends the call. */
  readonly mayWrite?: () => void;
  /** `Service-Config-Revision` of an answer that is ours. */
  readonly onConfigRevision?: (revision: string) => void;
  /** `Service-Version` of an answer that is ours. */
  readonly onServiceVersion?: (version: string) => void;
}

const CONNECT_TIMEOUT_MS = 10_000;
const ANSWER_TIMEOUT_MS = 10_000;
const BODY_TIMEOUT_MS = 30_000;
const MAX_ANSWER_BYTES = 8 * 1024 * 1024;

/** Errors after which the request may never have arrived: no server was there. */
const NOT_CONNECTED = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'UND_ERR_CONNECT_TIMEOUT']);

/** Speaks HTTP to one control plane. Never retries and never throws for an answer; a call rejects only when aborted. */
export class AgentClient implements AsyncDisposable {
  readonly #deps: AgentClientDeps;
  readonly #base: URL;
  readonly #dispatcher: Agent;

  constructor(deps: AgentClientDeps) {
    this.#deps = deps;
    this.#base = new URL(deps.baseUrl.replace(/\/+$/, ''));
    const ca = deps.caCertificate.trim();
    const shown = deps.clientCertificate;
    this.#dispatcher = new Agent({
      ...HTTP_1,
      connect: {
        timeout: CONNECT_TIMEOUT_MS,
        ...(ca === '' ? {} : { ca }),
        ...(shown === undefined ? {} : { cert: shown.certificate, key: shown.key.expose() }),
      },
      keepAliveTimeout: 30_000,
      maxResponseSize: MAX_ANSWER_BYTES,
    });
  }

  async call(call: AgentCall, identity: AgentIdentity | undefined, signal: AbortSignal): Promise<AgentAnswer> {
    signal.throwIfAborted();
    try {
      const raw = await this.#exchange(call, identity, signal);
      const now = this.#deps.clock.now();
      const answer = classifyAnswer(raw, now);
      const revision = headerOf(raw, CONFIG_REVISION_HEADER);
      if (revision !== undefined && answer.state !== 'unavailable') this.#deps.onConfigRevision?.(revision);
      const version = headerOf(raw, SERVICE_VERSION_HEADER);
      if (version !== undefined && answer.state !== 'unavailable') this.#deps.onServiceVersion?.(version);
      return answer;
    } catch (error) {
      signal.throwIfAborted();
      const { code, text } = describe(error);
      const cut = !NOT_CONNECTED.has(code) && !code.startsWith('ERR_TLS');
      return { state: 'unavailable', message: text, cut, answered: false };
    }
  }

  /** Takes no more calls; resolves once those under way have ended. */
  async close(): Promise<void> {
    await this.#dispatcher.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#dispatcher.destroy();
  }

  async #exchange(call: AgentCall, identity: AgentIdentity | undefined, signal: AbortSignal): Promise<RawAnswer> {
    const path = `${this.#base.pathname.replace(/\/+$/, '')}${call.path}`;
    if (call.method !== 'GET') this.#deps.mayWrite?.();
    const response = await request(this.#base.origin + path, {
      dispatcher: this.#dispatcher,
      method: call.method,
      headers: this.#headers(call, path, identity),
      ...(call.body === undefined ? {} : { body: JSON.stringify(call.body) }),
      headersTimeout: (call.holdSeconds ?? 0) * 1000 + (this.#deps.answerTimeoutMs ?? ANSWER_TIMEOUT_MS),
      bodyTimeout: BODY_TIMEOUT_MS,
      signal,
    });
    return { status: response.statusCode, headers: response.headers, text: await response.body.text() };
  }

  #headers(call: AgentCall, path: string, identity: AgentIdentity | undefined): Record<string, string> {
    const headers: Record<string, string> = { accept: AGENT_MEDIA_TYPE, 'user-agent': this.#deps.userAgent };
    if (call.body !== undefined) headers['content-type'] = AGENT_MEDIA_TYPE;
    if (call.ifNoneMatch !== undefined) headers['if-none-match'] = call.ifNoneMatch;
    if (call.configRevision !== undefined) headers[CONFIG_REVISION_HEADER] = call.configRevision;
    if (identity === undefined) return headers;
    headers['authorization'] = `Bearer ${identity.token.expose()}`;
    if (call.method !== 'GET') {
      const key = deriveHmacKey(identity.token, identity.clusterId);
      const at = this.#deps.clock.now();
      headers[SIGNATURE_HEADER] = signRequest({ key, method: call.method, path, body: call.body, at });
    }
    return headers;
  }
}

function describe(error: unknown): { readonly code: string; readonly text: string } {
  if (!(error instanceof Error)) return { code: '', text: 'the request failed' };
  const code = 'code' in error && typeof error.code === 'string' ? error.code : '';
  const inner = error instanceof AggregateError ? error.errors[0] : error.cause;
  const detail = error.message === '' && inner instanceof Error ? inner.message : error.message;
  return { code, text: code === '' || detail.includes(code) ? detail : `${detail} (${code})` };
}
