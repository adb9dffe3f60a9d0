import { Agent, fetch, type Response } from 'undici';
import { HTTP_1 } from '../runtime/http-1.ts';
import { readBounded } from '../runtime/read-bounded.ts';
import type { Secret } from '../runtime/secret.ts';
import { refuseRedirect } from './no-redirect.ts';

/** A refusal by the admin API, with the answer's own words. */
export class AdminApiError extends Error {
  readonly status: number;
  readonly code: string;
  readonly requestId: string;
  readonly faults: readonly { readonly path: string; readonly message: string; readonly allowed?: unknown }[];
  /** Seconds that it asks to be left alone. */
  readonly retryAfter: number | undefined;

  constructor(status: number, body: Partial<Record<string, unknown>>, retryAfter?: number) {
    super(typeof body['message'] === 'string' ? body['message'] : `the control plane answered ${status}`);
    this.name = 'AdminApiError';
    this.status = status;
    this.code = typeof body['error'] === 'string' ? body['error'] : 'internal';
    this.requestId = typeof body['requestId'] === 'string' ? body['requestId'] : '';
    this.faults = Array.isArray(body['faults']) ? body['faults'] : [];
    this.retryAfter = retryAfter;
  }
}

export interface AdminClientDeps {
  /** The control plane's address, without a trailing slash. */
  readonly baseUrl: string;
  /** Absent for what everybody may ask. */
  readonly token?: Secret;
  /** Of a person who belongs to several. */
  readonly organization?: string;
  /** Default 10 s. */
  readonly timeoutMs?: number;
}

export type AdminMethod = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

export interface AdminCall {
  readonly method: AdminMethod;
  /** Below `/api/v1`, with its leading slash. */
  readonly path: string;
  readonly body?: unknown;
  /** Such as `if-match` and `idempotency-key`. */
  readonly headers?: Readonly<Record<string, string>>;
}

export interface AdminAnswer<T> {
  readonly body: T;
  readonly headers: Response['headers'];
}

/** No page of a list is as long. */
const MAX_ANSWER = 64 * 1024 * 1024;
/** One for all calls of a process: connections are kept. */
const dispatcher = new Agent(HTTP_1);

/** The admin API (`/api/v1`) as its users call it. */
export class AdminClient {
  readonly #deps: AdminClientDeps;

  constructor(deps: AdminClientDeps) {
    this.#deps = deps;
  }

  /**
   * One call, once.
   *
   * @throws AdminApiError for every answer that is not a success
   */
  async send<T>({ method, path, body, headers = {} }: AdminCall): Promise<AdminAnswer<T>> {
    const { baseUrl, token, organization, timeoutMs = 10_000 } = this.#deps;
    const answer = await fetch(`${baseUrl}/api/v1${path}`, {
      dispatcher,
      method,
      redirect: 'manual',
      headers: {
        ...(token === undefined ? {} : { authorization: `Bearer ${token.expose()}` }),
        ...(organization === undefined ? {} : { 'service-organization': organization }),
        accept: 'application/json',
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(timeoutMs),
    });
    await refuseRedirect(answer);
    const text = (await readBounded(answer, MAX_ANSWER)).toString('utf8');
    if (!answer.ok) throw new AdminApiError(answer.status, refusalIn(text), retryAfterOf(answer));
    return { body: (text === '' ? {} : JSON.parse(text)) as T, headers: answer.headers };
  }

  /** As `send`, of which the body alone counts. */
  async call<T>(method: AdminMethod, path: string, body?: unknown): Promise<T> {
    return (await this.send<T>({ method, path, body })).body;
  }
}

/** Also of a proxy before it, which answers with a page. */
function refusalIn(text: string): Partial<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? value : {};
  } catch {
    return {};
  }
}

function retryAfterOf({ headers }: Response): number | undefined {
  const text = headers.get('retry-after');
  if (text === null) return undefined;
  if (/^\d{1,6}$/.test(text)) return Number(text);
  const at = Date.parse(text);
  const now = Date.parse(headers.get('date') ?? '');
  return Number.isNaN(at - now) ? undefined : Math.max(0, Math.ceil((at - now) / 1000));
}
