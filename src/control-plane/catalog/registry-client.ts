import { Agent, request, type Dispatcher } from 'undici';
import { backoffMs } from '../../runtime/backoff.ts';
import type { Clock } from '../../runtime/clock.ts';
import { HTTP_1 } from '../../runtime/http-1.ts';
import { PROJECT_VERSION } from '../../runtime/project-version.ts';
import type { Secret } from '../../runtime/secret.ts';
import { guardedLookup, type Lookup } from '../guarded-lookup.ts';
import { addressFault } from './registry-address.ts';
import { RegistryFault } from './registry-fault.ts';

const CONNECT_TIMEOUT_MS = 5000;
/** Until an answer begins, and between two pieces of it. */
const SILENCE_MS = 15_000;
const TRIES = 3;
const RETRY = { minMs: 300, maxMs: 3000 } as const;
/** A longer wait that a registry asks for is left to the next look. */
const LONGEST_WAIT_MS = 5000;
const MAX_RETRY_AFTER_MS = 3_600_000;
const MAX_REDIRECTS = 3;
/** OpenSSL's words, as Node hands them on. */
const NO_TLS_CODES = /^(ERR_SSL_|EPROTO$)/;
const CERTIFICATE_CODES = /CERT|SELF_SIGNED|^UNABLE_TO_(GET_ISSUER|VERIFY)/;

export interface RegistryClientDeps {
  readonly clock: Clock;
  /** A number in [0, 1). */
  readonly random: () => number;
  readonly allowPrivate: boolean;
  /** Default: the system's. */
  readonly lookup?: Lookup;
  /** PEM roots in place of the system's. */
  readonly caCertificate?: string;
}

export interface RegistryRequest {
  readonly accept: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** The value of `Authorization`: it goes to the address's own origin and no further. */
  readonly authorization?: Secret | undefined;
  /** Where false a redirect is a fault. */
  readonly followsRedirects?: boolean;
}

/** An answer whose body is still to be read. */
export interface RegistryAnswer {
  readonly status: number;
  readonly url: URL;
  readonly header: (name: string) => string | undefined;
  /** Pieces of the body. More than `maxBytes` are a fault, and so is a body that breaks off. */
  readonly pieces: (maxBytes: number) => AsyncIterable<Buffer>;
}

/**
 * GET at addresses that users have set: of the public network alone unless that is allowed to be otherwise, by the very
 * addresses that were looked at. What breaks off is tried again, later by jitter, as reading changes nothing.
 */
export class RegistryClient implements AsyncDisposable {
  readonly #deps: RegistryClientDeps;
  readonly #agent: Agent;

  constructor(deps: RegistryClientDeps) {
    this.#deps = deps;
    const ca = deps.caCertificate === undefined ? {} : { ca: deps.caCertificate };
    this.#agent = new Agent({
      ...HTTP_1,
      connect: { timeout: CONNECT_TIMEOUT_MS, lookup: guardedLookup(deps), ...ca },
      headersTimeout: SILENCE_MS,
      bodyTimeout: SILENCE_MS,
      connections: 2,
      maxResponseSize: -1,
    });
  }

  /**
   * @param read what is made of an answer; called anew at each try, for every status but 429 and 5xx
   * @throws RegistryFault, and the signal's reason
   */
  async get<T>(
    url: URL,
    options: RegistryRequest,
    read: (answer: RegistryAnswer) => Promise<T>,
    signal: AbortSignal,
  ): Promise<T> {
    const { clock, random } = this.#deps;
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await this.#once(url, options, read, signal);
      } catch (error) {
        const fault = faultOf(error, url, signal);
        const isPassing = fault.kind === 'down' || fault.kind === 'limited';
        const asked = fault.retryAfterMs ?? 0;
        if (!isPassing || attempt === TRIES || asked > LONGEST_WAIT_MS) throw fault;
        await clock.sleep(Math.max(asked, backoffMs(RETRY, attempt, random)), signal);
      }
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#agent.destroy();
  }

  async #once<T>(
    start: URL,
    options: RegistryRequest,
    read: (answer: RegistryAnswer) => Promise<T>,
    signal: AbortSignal,
  ): Promise<T> {
    let url = start;
    for (let hop = 0; ; hop += 1) {
      const fault = addressFault(url, this.#deps);
      if (fault !== undefined) throw new RegistryFault('unusable', `${url.host} was not called: it ${fault}`);
      const isOwn = url.origin === start.origin;
      const answer = await request(url, {
        dispatcher: this.#agent,
        method: 'GET',
        headers: {
          accept: options.accept,
          'user-agent': `service-control-plane/${PROJECT_VERSION}`,
          ...options.headers,
          ...(options.authorization === undefined || !isOwn ? {} : { authorization: options.authorization.expose() }),
        },
        signal,
      });
      // A body that is not read to its end keeps nothing: not the connection, and no error that nobody listens to.
      answer.body.on('error', () => undefined);
      try {
        const next = redirectOf(answer, url);
        if (next === undefined) {
          this.#refusePassing(answer, url);
          return await read(readable(answer, url));
        }
        if (options.followsRedirects !== true || hop === MAX_REDIRECTS) throw redirected(url, next, hop);
        if (url.protocol === 'https:' && next.protocol !== 'https:') throw redirected(url, next, hop);
        url = next;
      } finally {
        answer.body.destroy();
      }
    }
  }

  #refusePassing({ statusCode, headers }: Dispatcher.ResponseData, url: URL): void {
    if (statusCode !== 429 && statusCode < 500) return;
    const retryAfterMs = retryAfter(first(headers['retry-after']), this.#deps.clock.now());
    const asked = retryAfterMs === undefined ? {} : { retryAfterMs };
    throw new RegistryFault(statusCode === 429 ? 'limited' : 'down', `${url.host} answered ${statusCode}`, asked);
  }
}

/** The whole body as text. */
export async function readText(answer: RegistryAnswer, maxBytes: number): Promise<string> {
  const pieces: Buffer[] = [];
  for await (const piece of answer.pieces(maxBytes)) pieces.push(piece);
  return Buffer.concat(pieces).toString('utf8');
}

function readable({ statusCode, headers, body }: Dispatcher.ResponseData, url: URL): RegistryAnswer {
  return {
    status: statusCode,
    url,
    header: (name) => first(headers[name]),
    pieces: async function* pieces(maxBytes) {
      let size = 0;
      for await (const piece of body as AsyncIterable<Buffer>) {
        size += piece.length;
        if (size > maxBytes)
          throw new RegistryFault('unusable', `${url.host} answers with more than ${maxBytes} bytes`);
        yield piece;
      }
    },
  };
}

function redirectOf({ statusCode, headers }: Dispatcher.ResponseData, url: URL): URL | undefined {
  if (![301, 302, 303, 307, 308].includes(statusCode)) return undefined;
  const location = first(headers['location']);
  if (location === undefined || !URL.canParse(location, url.href)) {
    throw new RegistryFault('unusable', `${url.host} answered ${statusCode} without a place to go to`);
  }
  return new URL(location, url);
}

/** Names only hosts: a query may hold a signature. */
function redirected(url: URL, next: URL, hop: number): RegistryFault {
  const why = hop === MAX_REDIRECTS ? 'redirects too often' : `redirects to ${next.protocol}//${next.host}`;
  return new RegistryFault('unusable', `${url.host} ${why}; set the chart's address to where it is now`);
}

/** Seconds or a date (RFC 9110, section 10.2.3). */
function retryAfter(text: string | undefined, now: Date): number | undefined {
  if (text === undefined) return undefined;
  const ms = /^\d{1,9}$/.test(text) ? Number(text) * 1000 : Date.parse(text) - now.getTime();
  return Number.isNaN(ms) ? undefined : Math.min(Math.max(ms, 0), MAX_RETRY_AFTER_MS);
}

function faultOf(error: unknown, url: URL, signal: AbortSignal): RegistryFault {
  signal.throwIfAborted();
  if (error instanceof RegistryFault) return error;
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  const code = cause instanceof Error && 'code' in cause && typeof cause.code === 'string' ? cause.code : undefined;
  if (code !== undefined && CERTIFICATE_CODES.test(code)) {
    const next = 'give its root to the control plane in NODE_EXTRA_CA_CERTS';
    return new RegistryFault('unusable', `the certificate of ${url.host} is not trusted (${code}); ${next}`);
  }
  if (code !== undefined && NO_TLS_CODES.test(code)) {
    return new RegistryFault('unusable', `${url.host} does not speak TLS (${code})`, { speaksNoTls: true });
  }
  // Messages of system errors hold addresses and ports; those of the guard do not.
  const why = code === undefined ? (cause instanceof Error ? cause.message : 'unknown error') : code;
  return new RegistryFault('down', `${url.host} does not answer (${why})`, { cause: error });
}

function first(header: string | string[] | undefined): string | undefined {
  return [header].flat()[0];
}
