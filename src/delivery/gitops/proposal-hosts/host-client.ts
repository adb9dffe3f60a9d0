import type { FetchLike } from '../../../git/receive-pack.ts';
import { backoffMs } from '../../../runtime/backoff.ts';
import type { Clock } from '../../../runtime/clock.ts';
import { PROJECT_VERSION } from '../../../runtime/project-version.ts';
import { BodyTooLongError, readBounded } from '../../../runtime/read-bounded.ts';
import type { Secret } from '../../../runtime/secret.ts';
import { ProposalHostFault } from './proposal-host.ts';
import type { HostPauses } from './host-pauses.ts';

const TIMEOUT_MS = 15_000;
/** Fifty pull requests as GitHub describes them are about 1.3 MB. */
const MAX_ANSWER_BYTES = 8 * 1024 * 1024;
/** Reads alone are repeated here; whoever writes looks first what became of it. */
const ATTEMPTS = 3;
const WAITS = { minMs: 250, maxMs: 4000 } as const;

/** How one repository is reached on its host's API. */
export interface HostApi {
  /** Without a slash at its end: `https://api.github.com`, `https://gitlab.example/api/v4`. */
  readonly apiUrl: string;
  readonly owner: string;
  readonly name: string;
  /** Asked for before each request: some are renewed every hour. */
  readonly token: (signal: AbortSignal) => Promise<Secret>;
  /** Trusts the host's certificate authority and goes by its proxy. */
  readonly fetchLike: FetchLike;
  readonly pauses: HostPauses;
  readonly clock: Clock;
  readonly random: () => number;
}

/** What differs from host to host in every request. */
export interface HostManners {
  /** As people know it. */
  readonly title: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly authorization: (token: string) => string;
  /** Between two requests that change something, where the host asks for a pause. */
  readonly writeGapMs?: number;
  /** What a credential needs for pull or merge requests, to be said where it is missing. */
  readonly needs: string;
}

export interface HostRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH';
  /** Below `apiUrl`, with a slash before it. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  readonly etag?: string | undefined;
  /** Statuses that the caller reads; any other one is a fault. */
  readonly takes: readonly number[];
}

export interface HostAnswer {
  readonly status: number;
  /** Undefined where there is none, or none in JSON. */
  readonly body: unknown;
  readonly etag: string | undefined;
}

/** The host wants no requests for now. */
export class HostPaused extends ProposalHostFault {
  readonly leftMs: number;

  constructor(title: string, leftMs: number) {
    super('unavailable', `${title} limits requests; it is asked again in ${Math.ceil(leftMs / 1000)} s`);
    this.name = 'HostPaused';
    this.leftMs = leftMs;
  }
}

/** JSON over HTTP to one host: bounded, repeated where that is safe, and never with a token to another address. */
export class HostClient {
  readonly #api: HostApi;
  readonly #manners: HostManners;
  readonly #origin: string;

  constructor(api: HostApi, manners: HostManners) {
    this.#api = api;
    this.#manners = manners;
    this.#origin = new URL(api.apiUrl).origin;
  }

  /** @throws ProposalHostFault; whatever aborted `signal` */
  async call(request: HostRequest, signal: AbortSignal): Promise<HostAnswer> {
    const { clock, random } = this.#api;
    const attempts = request.method === 'GET' ? ATTEMPTS : 1;
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await this.#once(request, signal);
      } catch (error) {
        signal.throwIfAborted();
        const mayPass = error instanceof ProposalHostFault && error.kind === 'unavailable';
        if (!mayPass || error instanceof HostPaused || attempt >= attempts) throw error;
        await clock.sleep(backoffMs(WAITS, attempt, random), signal);
      }
    }
  }

  /** A fault in words, for an answer that the caller took and can do nothing with. */
  fault(kind: ProposalHostFault['kind'], what: string, answer: Pick<HostAnswer, 'status' | 'body'>): ProposalHostFault {
    return new ProposalHostFault(kind, `${this.#manners.title} ${what} (${answer.status}${saidIn(answer.body)})`);
  }

  async #once(request: HostRequest, signal: AbortSignal): Promise<HostAnswer> {
    const { pauses, fetchLike } = this.#api;
    const { title } = this.#manners;
    const paused = pauses.leftMs(this.#origin);
    if (paused > 0) throw new HostPaused(title, paused);
    const turnMs = request.method === 'GET' ? 0 : pauses.takeTurn(this.#origin, this.#manners.writeGapMs ?? 0);
    if (turnMs > 0) await this.#api.clock.sleep(turnMs, signal);
    const timeout = AbortSignal.timeout(TIMEOUT_MS);
    const bounded = AbortSignal.any([signal, timeout]);
    let response: Response;
    let text: string;
    try {
      const init = await this.#init(request, bounded);
      response = await fetchLike(urlOf(this.#api.apiUrl, request), init);
      text = (await readBounded(response, MAX_ANSWER_BYTES)).toString('utf8');
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof ProposalHostFault) throw error;
      if (error instanceof BodyTooLongError)
        throw new ProposalHostFault('unavailable', 'an answer has more than 8 MiB');
      const why = timeout.aborted
        ? `did not answer within ${TIMEOUT_MS / 1000} s`
        : `cannot be reached${codeOf(error)}`;
      throw new ProposalHostFault('unavailable', `${title} ${why}`, { cause: error });
    }
    const limitedMs = pauses.heed(this.#origin, { status: response.status, headers: response.headers, text });
    if (limitedMs > 0) throw new HostPaused(title, limitedMs);
    const answer = { status: response.status, body: readJson(text), etag: response.headers.get('etag') ?? undefined };
    if (request.takes.includes(answer.status)) return answer;
    throw this.#faultOf(answer, response);
  }

  async #init(request: HostRequest, signal: AbortSignal): Promise<RequestInit> {
    const token = await this.#api.token(signal);
    return {
      method: request.method,
      // A token is for the host that it was made for; a repository that has moved is told, not followed.
      redirect: 'manual',
      signal,
      headers: {
        'user-agent': `service-control-plane/${PROJECT_VERSION}`,
        ...this.#manners.headers,
        authorization: this.#manners.authorization(token.expose()),
        ...(request.etag === undefined ? {} : { 'if-none-match': request.etag }),
        ...(request.body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(request.body === undefined ? {} : { body: JSON.stringify(request.body) }),
    };
  }

  #faultOf(answer: HostAnswer, { headers }: Response): ProposalHostFault {
    const { title, needs } = this.#manners;
    const { status } = answer;
    if (status >= 500 || status === 408 || status === 425) return this.fault('unavailable', 'failed', answer);
    if (status >= 300 && status < 400) {
      return new ProposalHostFault(
        'forbidden',
        `${title} says that the repository has moved${placeIn(headers)}; set its new address, since a credential is not taken along (${status})`,
      );
    }
    if (status === 401) {
      return this.fault('forbidden', 'does not take the credential: it is wrong, expired, or not active yet', answer);
    }
    if (status === 403 || status === 404) {
      const wanted = headers.get('x-accepted-github-permissions') ?? headers.get('x-accepted-oauth-scopes') ?? '';
      const which = wanted === '' ? needs : `${needs}; it asks for ${wanted}`;
      return this.fault('forbidden', `does not let the credential do this: it needs ${which}`, answer);
    }
    return this.fault('refused', 'refuses the request', answer);
  }
}

function urlOf(apiUrl: string, { path, query }: HostRequest): string {
  const text = query === undefined ? '' : `?${new URLSearchParams(query).toString()}`;
  return `${apiUrl}${path}${text}`;
}

function readJson(text: string): unknown {
  if (text === '') return undefined;
  try {
    return JSON.parse(text);
  } catch {
    // A proxy's page; the status says what is known.
    return undefined;
  }
}

/** The host's own words: `message` as text or as what was wrong with what, and GitHub's list of errors. */
export function wordsOf(body: unknown): string {
  if (typeof body !== 'object' || body === null) return '';
  const { message, error, errors } = body as Record<string, unknown>;
  const words = [message, error, errors].filter((part) => part !== undefined && part !== null && part !== '');
  return words.map((part) => (typeof part === 'string' ? part : JSON.stringify(part))).join(': ');
}

function saidIn(body: unknown): string {
  const words = wordsOf(body)
    .replace(/[^\x20-\x7e]+/g, ' ')
    .trim();
  return words === '' ? '' : `: ${words.slice(0, 300)}`;
}

function placeIn(headers: Headers): string {
  const place = headers.get('location');
  return place !== null && URL.canParse(place) ? ` to ${new URL(place).origin}${new URL(place).pathname}` : '';
}

function codeOf(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  return cause instanceof Error && 'code' in cause && typeof cause.code === 'string' ? ` (${cause.code})` : '';
}
