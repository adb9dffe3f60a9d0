import { session } from '../session.ts';
import { ApiError, OfflineError } from './api-error.ts';
import { connection } from './connection.ts';
import { serverClock } from './server-clock.ts';

const TIMEOUT_MS = 15_000;

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

export interface CallOptions {
  readonly body?: unknown;
  /** Aborts the call where who asked has left. */
  readonly signal?: AbortSignal;
  /** The tag that was read: what somebody else changed meanwhile is not written over. */
  readonly ifMatch?: string | undefined;
  /** The same key again is the same request, whatever became of the first answer. */
  readonly idempotencyKey?: string;
  /** A check of a token that is not the session's yet. */
  readonly token?: string;
}

export interface Answer<T> {
  readonly body: T;
  readonly tag?: string;
}

/** A keyed page, as every list of the API answers. */
export interface Page<T> {
  readonly items: readonly T[];
  readonly nextCursor?: string;
}

/**
 * One call of the admin API; `path` is below `/api/v1`. 401 ends the session.
 *
 * @throws {ApiError} what was refused
 * @throws {OfflineError} nothing answered in time
 */
export async function request<T>(method: Method, path: string, options: CallOptions = {}): Promise<Answer<T>> {
  const { token = session.state().token ?? '' } = options;
  const { signal } = options;
  const timeout = AbortSignal.timeout(TIMEOUT_MS);
  const began = Date.now();
  let answer: Response;
  let text: string;
  try {
    answer = await fetch(`/api/v1${path}`, {
      method,
      headers: headersOf(token, options),
      ...(options.body === undefined ? {} : { body: JSON.stringify(options.body) }),
      signal: signal === undefined ? timeout : AbortSignal.any([signal, timeout]),
      cache: 'no-store',
    });
    serverClock.learn(answer.headers.get('date'), began);
    text = await answer.text();
  } catch (error) {
    if (signal?.aborted === true) throw error;
    connection.lost();
    throw new OfflineError(
      timeout.aborted ? `no answer within ${TIMEOUT_MS / 1000} seconds` : 'the control plane cannot be reached',
    );
  }
  const body = parse(answer, text);
  connection.works();
  if (answer.status === 401 && options.token === undefined) {
    session.close(new ApiError(401, body).message, token);
  }
  if (!answer.ok) {
    const retryAfter = Number(answer.headers.get('retry-after') ?? Number.NaN);
    throw new ApiError(answer.status, body, Number.isFinite(retryAfter) ? retryAfter : undefined);
  }
  const tag = answer.headers.get('etag');
  return { body: body as T, ...(tag === null ? {} : { tag }) };
}

/** The body of an answer; see `request`. */
export async function call<T>(method: Method, path: string, options: CallOptions = {}): Promise<T> {
  return (await request<T>(method, path, options)).body;
}

function headersOf(token: string, { body, ifMatch, idempotencyKey }: CallOptions): Record<string, string> {
  const { organization } = session.state();
  return {
    accept: 'application/json',
    ...(token === '' ? {} : { authorization: `Bearer ${token}` }),
    ...(organization === undefined ? {} : { 'service-organization': organization }),
    ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    ...(ifMatch === undefined ? {} : { 'if-match': ifMatch }),
    ...(idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey }),
  };
}

/** A proxy between answers in its own words where the control plane is down. */
function parse(answer: Response, text: string): Record<string, unknown> {
  if (text === '') return {};
  try {
    return JSON.parse(text) as Record<string, unknown>;
  } catch {
    connection.lost();
    throw new OfflineError(`what answered (${answer.status}) is not the control plane`);
  }
}

/** A path with its values escaped: `` path`/proposals/${id}` ``. */
export function path(parts: TemplateStringsArray, ...values: readonly string[]): string {
  return String.raw({ raw: parts }, ...values.map((value) => encodeURIComponent(value)));
}

export type Parameters = Readonly<Record<string, string | undefined>>;

/** `?a=b`, or nothing where no parameter has a value. */
export function query(parameters: Parameters): string {
  const given = Object.entries(parameters).filter((one): one is [string, string] => (one[1] ?? '') !== '');
  return given.length === 0 ? '' : `?${new URLSearchParams(given).toString()}`;
}
