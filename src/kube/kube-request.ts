import { request, type Dispatcher } from 'undici';
import type { Clock } from '../runtime/clock.ts';
import { KubeError } from './cluster-api.ts';
import type { ClusterCredentials, Connection } from './cluster-credentials.ts';
import {
  ABORTED,
  ANSWER_TOO_LARGE,
  CONNECTION_FAILED,
  faultOfAnswer,
  namesMissingObject,
  TIMED_OUT,
} from './kube-fault.ts';

const MAX_ERROR_BYTES = 256 * 1024;

export interface KubeRequest {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** Path and query, from the server's root. */
  readonly path: string;
  readonly body?: string;
  readonly contentType?: string;
}

export interface KubeAnswer {
  readonly status: number;
  readonly body: string;
}

export interface RequestDeps {
  readonly credentials: ClusterCredentials;
  readonly userAgent: string;
  /** Milliseconds for one request, from the first byte out to the last byte in. */
  readonly timeoutMs: number;
  /** Of an answer that is read whole; what is larger is not read on. */
  readonly maxAnswerBytes: number;
  readonly clock: Clock;
  /** Called right before a request that may change something leaves; what it throws or rejects with is the answer. */
  readonly mayWrite?: () => void | Promise<void>;
}

/** One request, once: the whole answer of a success or 404, `KubeError` otherwise. */
export async function sendRequest(deps: RequestDeps, ask: KubeRequest, signal?: AbortSignal): Promise<KubeAnswer> {
  return withDeadline(deps, ask, signal, async (inner) => {
    const answer = await open(deps, ask, inner);
    const limit = answer.statusCode < 300 ? deps.maxAnswerBytes : maxErrorBytes(deps);
    const body = await readWhole(answer.body, limit, whereOf(deps, ask));
    if (answer.statusCode < 300) return { status: answer.statusCode, body };
    throw faultOf(deps, ask, answer, body);
  });
}

/** Opens a stream (a watch): resolves at the answer's headers; the caller reads, and destroys, the body. */
export async function openStream(
  deps: RequestDeps,
  ask: KubeRequest,
  signal: AbortSignal,
): Promise<Dispatcher.ResponseData['body']> {
  // The stream outlives the deadline of its headers, and then follows the caller's signal alone.
  const stream = new AbortController();
  const onAbort = (): void => stream.abort(signal.reason);
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    return await withDeadline(deps, ask, signal, async (inner) => {
      inner.addEventListener('abort', () => stream.abort(), { once: true });
      const answer = await open(deps, ask, stream.signal);
      if (answer.statusCode < 300) {
        answer.body.once('close', () => signal.removeEventListener('abort', onAbort));
        return answer.body;
      }
      const body = await readWhole(answer.body, maxErrorBytes(deps), whereOf(deps, ask));
      throw faultOf(deps, ask, answer, body);
    });
  } catch (error) {
    signal.removeEventListener('abort', onAbort);
    throw error;
  }
}

/** Those 404 that say that this object is not there, as opposed to its kind. */
const missing = new WeakSet<KubeError>();

export function isMissingObject(error: KubeError): boolean {
  return missing.has(error);
}

function maxErrorBytes({ maxAnswerBytes }: RequestDeps): number {
  return Math.min(maxAnswerBytes, MAX_ERROR_BYTES);
}

async function open(deps: RequestDeps, ask: KubeRequest, signal: AbortSignal): Promise<Dispatcher.ResponseData> {
  const used = await deps.credentials.connection();
  const answer = await requestWith(deps, ask, used, signal);
  if (answer.statusCode !== 401) return answer;
  // Nothing was done yet, whatever the method: a credential that has rotated meanwhile is worth one more try.
  deps.credentials.refresh();
  const now = await deps.credentials.connection();
  if (now.headers['authorization'] === used.headers['authorization'] && now.dispatcher === used.dispatcher)
    return answer;
  await answer.body.dump();
  return requestWith(deps, ask, now, signal);
}

async function requestWith(
  deps: RequestDeps,
  ask: KubeRequest,
  { dispatcher, headers }: Connection,
  signal: AbortSignal,
): Promise<Dispatcher.ResponseData> {
  if (ask.method !== 'GET') await deps.mayWrite?.();
  return request(`${deps.credentials.server}${ask.path}`, {
    dispatcher,
    method: ask.method,
    signal,
    body: ask.body ?? null,
    headers: {
      ...headers,
      accept: 'application/json',
      'user-agent': deps.userAgent,
      ...(ask.body === undefined ? {} : { 'content-type': ask.contentType ?? 'application/json' }),
    },
  });
}

/** Aborts the work when the time is up, and turns whatever then breaks into one error that says so. */
async function withDeadline<T>(
  deps: RequestDeps,
  ask: KubeRequest,
  signal: AbortSignal | undefined,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const where = whereOf(deps, ask);
  const { disposed } = deps.credentials;
  const ended = (): AbortSignal | undefined => [signal, disposed].find((each) => each?.aborted === true);
  const before = ended();
  if (before !== undefined) throw aborted(where, before);
  const inner = new AbortController();
  const done = new AbortController();
  let late = false;
  const onAbort = (): void => inner.abort(ended()?.reason);
  signal?.addEventListener('abort', onAbort, { once: true });
  disposed.addEventListener('abort', onAbort, { once: true });
  const deadline = deps.clock.sleep(deps.timeoutMs, done.signal).then(
    () => {
      late = true;
      inner.abort();
    },
    () => undefined,
  );
  try {
    // Raced as well as aborted: an exec plugin or a name lookup does not listen to a signal.
    return await Promise.race([work(inner.signal), rejection(inner.signal)]);
  } catch (error) {
    if (late) throw new KubeError(`${where}: no answer within ${deps.timeoutMs} ms`, { status: 0, reason: TIMED_OUT });
    const end = ended();
    if (end !== undefined) throw aborted(where, end);
    if (error instanceof KubeError) throw error;
    throw connectionFailed(deps, where, error);
  } finally {
    done.abort();
    signal?.removeEventListener('abort', onAbort);
    disposed.removeEventListener('abort', onAbort);
    void deadline;
  }
}

/** The client's own errors may hold what the server sent: of them only code and message are kept. */
export function connectionFailed({ credentials }: RequestDeps, where: string, error: unknown): KubeError {
  const closed = credentials.server.startsWith('https:') && codeOf(error) === 'UND_ERR_SOCKET' ? `; ${MAY_ASK}` : '';
  const message = credentials.clean(`${where}: ${describe(error)}${closed}`);
  const cause = Object.assign(new Error(message), { code: codeOf(error) });
  return new KubeError(message, { status: 0, reason: CONNECTION_FAILED, cause });
}

/** In TLS 1.3 a server that will not have the client may just close the connection. */
const MAY_ASK = 'so does a server that asks for a client certificate and gets none, or one that it does not take';

function aborted(where: string, signal: AbortSignal): KubeError {
  return new KubeError(`${where}: aborted`, { status: 0, reason: ABORTED, cause: signal.reason });
}

async function rejection(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(new Error('aborted')), { once: true });
  });
}

async function readWhole(body: AsyncIterable<unknown>, limit: number, where: string): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of body) {
    const bytes = chunk as Buffer;
    size += bytes.length;
    // Leaving the loop destroys the stream.
    if (size > limit) {
      throw new KubeError(`${where}: the answer is larger than ${limit} bytes`, {
        status: 0,
        reason: ANSWER_TOO_LARGE,
      });
    }
    chunks.push(bytes);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function faultOf(deps: RequestDeps, ask: KubeRequest, answer: Dispatcher.ResponseData, body: string): KubeError {
  const retryAfter = Number(headerOf(answer, 'retry-after'));
  const fault = faultOfAnswer({
    status: answer.statusCode,
    contentType: headerOf(answer, 'content-type'),
    body,
    where: whereOf(deps, ask),
    clean: (text) => deps.credentials.clean(text),
    ...(retryAfter > 0 ? { retryAfter } : {}),
  });
  if (namesMissingObject(body)) missing.add(fault);
  return fault;
}

function headerOf(answer: Dispatcher.ResponseData, name: string): string {
  const value = answer.headers[name];
  return Array.isArray(value) ? (value[0] ?? '') : (value ?? '');
}

function whereOf(deps: RequestDeps, ask: KubeRequest): string {
  return `${ask.method} ${deps.credentials.server}${ask.path.replace(/\?.*$/, '')}`;
}

/** `ECONNREFUSED connect ECONNREFUSED 127.0.0.1:1`, also out of an AggregateError, whose own message is empty. */
function describe(error: unknown): string {
  if (error instanceof AggregateError && error.message === '') return error.errors.map(describe).join('; ');
  if (CERTIFICATE_ALERT.test(codeOf(error))) {
    return 'the server asks for a client certificate: the kubeconfig has none, or one that the server does not take';
  }
  return error instanceof Error ? error.message : String(error);
}

/** TLS alerts by which a server says what it thinks of the client's certificate (RFC 8446, 6.2), as OpenSSL spells them. */
const CERTIFICATE_ALERT =
  /ALERT_(CERTIFICATE|BAD_CERTIFICATE|UNKNOWN_CA|UNSUPPORTED_CERTIFICATE|HANDSHAKE_FAILURE|NO_CERT)/;

function codeOf(error: unknown): string {
  if (!(error instanceof Error)) return '';
  const own = 'code' in error && typeof error.code === 'string' ? error.code : '';
  return own === '' || own === 'UND_ERR_SOCKET' ? codeOf(error.cause) || own : own;
}
