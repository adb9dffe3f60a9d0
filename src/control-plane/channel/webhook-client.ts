import { Agent, request, type Dispatcher } from 'undici';
import { HTTP_1 } from '../../runtime/http-1.ts';
import { PROJECT_VERSION } from '../../runtime/project-version.ts';
import type { Secret } from '../../runtime/secret.ts';
import { guardedLookup, type Lookup } from '../guarded-lookup.ts';
import { receiverFault } from './receiver-address.ts';
import { signWebhook } from './webhook-signature.ts';

/** Below the ten seconds that `servicectl` waits for a test. */
const TIMEOUT_MS = 8000;
const CONNECT_TIMEOUT_MS = 5000;
/** Of an answer's body; Slack's errors are one word. */
const MAX_ANSWER_BYTES = 512;
const MAX_RETRY_AFTER_MS = 3_600_000;

/** The receiver does not take these messages at all, or not this one. Others may pass. */
const GONE = [404, 410];
const REFUSED = [400, 413, 415, 422];

/** How a post ended. `answer` is for people: what came back, never an address. */
export type PostOutcome =
  | { readonly state: 'taken'; readonly answer: string }
  /** Nothing is taken there any more. */
  | { readonly state: 'gone'; readonly answer: string }
  /** This message is never taken. */
  | { readonly state: 'refused'; readonly answer: string }
  | { readonly state: 'retry'; readonly answer: string; readonly afterMs?: number };

export interface WebhookClientDeps {
  readonly now: () => Date;
  readonly allowPrivate: boolean;
  /** Default: the system's. */
  readonly lookup?: Lookup;
}

/**
 * Posts messages to addresses that users have set: each goes to the public network alone, unless that is allowed to be
 * otherwise, by the very addresses that were looked at, so that a name cannot resolve to another one in between. Redirects
 * are not followed.
 */
export class WebhookClient implements AsyncDisposable {
  readonly #deps: WebhookClientDeps;
  readonly #agent: Agent;

  constructor(deps: WebhookClientDeps) {
    this.#deps = deps;
    this.#agent = new Agent({
      ...HTTP_1,
      connect: { timeout: CONNECT_TIMEOUT_MS, lookup: guardedLookup(deps) },
      bodyTimeout: TIMEOUT_MS,
      headersTimeout: TIMEOUT_MS,
    });
  }

  /** One attempt. Rejects only when `stop` is aborted. */
  async post(
    to: { readonly url: Secret; readonly secret: Secret },
    message: { readonly id: string; readonly body: string },
    stop: AbortSignal,
  ): Promise<PostOutcome> {
    const url = to.url.expose();
    const fault = receiverFault(url, this.#deps);
    if (fault !== undefined) return { state: 'retry', answer: `not called: the address ${fault}` };
    const timeout = AbortSignal.timeout(TIMEOUT_MS);
    try {
      const answer = await request(url, {
        dispatcher: this.#agent,
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          'user-agent': `service-control-plane/${PROJECT_VERSION}`,
          ...signWebhook({ ...message, secret: to.secret, at: this.#deps.now() }),
        },
        body: message.body,
        signal: AbortSignal.any([stop, timeout]),
      });
      return outcomeOf(answer, await this.#describe(answer), this.#deps.now());
    } catch (error) {
      stop.throwIfAborted();
      return { state: 'retry', answer: timeout.aborted ? `no answer within ${TIMEOUT_MS / 1000} s` : failure(error) };
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#agent.destroy();
  }

  /** The status, and the first words of the body unless they may be an inner server's, which the caller must not read. */
  async #describe({ statusCode, body }: Dispatcher.ResponseData): Promise<string> {
    let text = '';
    // The status has decided; a body that breaks off or never ends changes nothing.
    body.on('error', () => undefined);
    if (!this.#deps.allowPrivate) {
      await body
        .forEach((chunk: Buffer) => {
          text += chunk.toString('utf8');
          if (text.length >= MAX_ANSWER_BYTES) body.destroy();
        })
        .catch(() => undefined);
    }
    body.destroy();
    const words = text
      .slice(0, 200)
      .replace(/[^\x20-\x7e]+/g, ' ')
      .trim();
    return words === '' ? `answered ${statusCode}` : `answered ${statusCode}: ${words}`;
  }
}

function outcomeOf({ statusCode, headers }: Dispatcher.ResponseData, answer: string, now: Date): PostOutcome {
  if (statusCode >= 200 && statusCode < 300) return { state: 'taken', answer };
  if (statusCode >= 300 && statusCode < 400) return { state: 'retry', answer: `${answer}; redirects are not followed` };
  if (GONE.includes(statusCode)) return { state: 'gone', answer };
  if (REFUSED.includes(statusCode)) return { state: 'refused', answer };
  const afterMs = retryAfterMs(headers['retry-after'], now);
  return { state: 'retry', answer, ...(afterMs === undefined ? {} : { afterMs }) };
}

/** Seconds or a date (RFC 9110, section 10.2.3), an hour at the most. */
function retryAfterMs(header: string | string[] | undefined, now: Date): number | undefined {
  const text = [header].flat()[0];
  if (text === undefined) return undefined;
  const ms = /^\d{1,9}$/.test(text) ? Number(text) * 1000 : Date.parse(text) - now.getTime();
  return Number.isNaN(ms) ? undefined : Math.min(Math.max(ms, 0), MAX_RETRY_AFTER_MS);
}

function failure(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  if (!(cause instanceof Error)) return 'failed';
  const code = 'code' in cause && typeof cause.code === 'string' ? cause.code : undefined;
  // Messages of system errors hold addresses and ports; ours do not.
  return code === undefined ? cause.message : `failed (${code})`;
}
