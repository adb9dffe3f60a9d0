import { Agent, fetch } from 'undici';
import { HTTP_1 } from '../runtime/http-1.ts';
import type { Secret } from '../runtime/secret.ts';

/** A refusal by the admin API, with the answer's own words. */
export class AdminApiError extends Error {
  readonly status: number;
  readonly code: string;
  readonly requestId: string;
  readonly faults: readonly { readonly path: string; readonly message: string; readonly allowed?: unknown }[];

  constructor(status: number, body: Partial<Record<string, unknown>>) {
    super(typeof body['message'] === 'string' ? body['message'] : `the control plane answered ${status}`);
    this.name = 'AdminApiError';
    this.status = status;
    this.code = typeof body['error'] === 'string' ? body['error'] : 'internal';
    this.requestId = typeof body['requestId'] === 'string' ? body['requestId'] : '';
    this.faults = Array.isArray(body['faults']) ? body['faults'] : [];
  }
}

export interface AdminClientDeps {
  /** The control plane's address, without a trailing slash. */
  readonly baseUrl: string;
  readonly token: Secret;
  /** Default 10 s. */
  readonly timeoutMs?: number;
}

/** The admin API (`/api/v1`) as its users call it. */
export class AdminClient {
  readonly #deps: AdminClientDeps;
  readonly #dispatcher = new Agent(HTTP_1);

  constructor(deps: AdminClientDeps) {
    this.#deps = deps;
  }

  /**
   * One call. `path` is below `/api/v1`, with its leading slash.
   *
   * @throws AdminApiError for every answer that is not a success
   */
  async call<T>(method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE', path: string, body?: unknown): Promise<T> {
    const answer = await fetch(`${this.#deps.baseUrl}/api/v1${path}`, {
      dispatcher: this.#dispatcher,
      method,
      headers: {
        authorization: `Bearer ${this.#deps.token.expose()}`,
        accept: 'application/json',
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(this.#deps.timeoutMs ?? 10_000),
    });
    const text = await answer.text();
    const parsed = (text === '' ? {} : JSON.parse(text)) as Partial<Record<string, unknown>>;
    if (!answer.ok) throw new AdminApiError(answer.status, parsed);
    return parsed as T;
  }
}
