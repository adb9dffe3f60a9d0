import { randomBytes } from 'node:crypto';
import { askedWaitMs, backoffMs } from '../runtime/backoff.ts';
import { systemClock } from '../runtime/clock.ts';
import { AdminApiError, type AdminAnswer, type AdminCall } from './admin-client.ts';
import type { CallDeps, ConnectionOptions } from './connection.ts';
import { printable } from './git-views.ts';

const BACKOFF = { minMs: 200, maxMs: 5000 } as const;
const DEFAULT_SECONDS = 30;
/** Of an address where nobody answers: it is most often a wrong one. */
const MAX_UNREACHED = 2;
/** From here on a person is told what is waited for. */
const NOTICED_MS = 1000;

/** Nothing was sent. */
const UNREACHED = new Set(['ECONNREFUSED', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH', 'UND_ERR_CONNECT_TIMEOUT']);
/** It may have been done. */
const LOST = new Set(['ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET', 'UND_ERR_HEADERS_TIMEOUT', 'ETIMEDOUT', 'TimeoutError']);

/**
 * Repeats a call that was not answered, or was put off, with jitter, until it is answered or its time is up. What may have
 * been done is repeated only where doing it again changes nothing: all but a change that says of what it is one (`If-Match`).
 */
export async function withRetries<T>(
  { requestTimeout = DEFAULT_SECONDS, timeoutMs = 0 }: ConnectionOptions,
  { clock = systemClock, randomBytes: random = randomBytes, err, isQuiet }: CallDeps,
  call: AdminCall,
  send: (leftMs: number) => Promise<AdminAnswer<T>>,
): Promise<AdminAnswer<T>> {
  const endAt = clock.now().getTime() + Math.max(requestTimeout * 1000, timeoutMs);
  const chance = (): number => (random(1)[0] ?? 0) / 256;
  let mayBeDone = false;
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await send(Math.max(1, endAt - clock.now().getTime()));
    } catch (error) {
      if (mayBeDone && isGone(error, call)) return { body: {} as T, headers: new Headers() as never };
      const again = kindOf(error, call, attempt);
      if (again === undefined) throw error;
      mayBeDone ||= again === 'lost';
      const asked = error instanceof AdminApiError ? error.retryAfter : undefined;
      const wait = askedWaitMs(
        asked === undefined ? undefined : asked * 1000,
        backoffMs(BACKOFF, attempt, chance),
        chance,
      );
      if (clock.now().getTime() + wait >= endAt) throw error;
      if (wait >= NOTICED_MS && isQuiet !== true)
        err?.(printable(`servicectl: ${saying(error)}; trying again in ${Math.ceil(wait / 1000)} s\n`));
      await clock.sleep(wait);
    }
  }
}

function kindOf(error: unknown, call: AdminCall, attempt: number): 'put off' | 'lost' | undefined {
  if (error instanceof AdminApiError) {
    const { status, retryAfter } = error;
    // The same call, under the same key, is still being worked on.
    if (status === 409) return retryAfter === undefined ? undefined : 'put off';
    if (status === 429 || status === 503) return 'put off';
    return (status === 502 || status === 504) && canBeRepeated(call) ? 'lost' : undefined;
  }
  const code = codeOf(error);
  if (UNREACHED.has(code)) return attempt <= MAX_UNREACHED ? 'put off' : undefined;
  return LOST.has(code) && canBeRepeated(call) ? 'lost' : undefined;
}

function canBeRepeated({ headers = {} }: AdminCall): boolean {
  return headers['if-match'] === undefined;
}

/** What was to be deleted is not there when it is asked for again. */
function isGone(error: unknown, { method }: AdminCall): boolean {
  return method === 'DELETE' && error instanceof AdminApiError && error.status === 404;
}

function codeOf(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  // A DOMException, whose code is a number.
  if (cause instanceof Error && cause.name === 'TimeoutError') return cause.name;
  return cause instanceof Error && 'code' in cause && typeof cause.code === 'string' ? cause.code : '';
}

function saying(error: unknown): string {
  if (error instanceof AdminApiError) return `the control plane answered ${error.status} (${error.code})`;
  return `the control plane did not answer (${codeOf(error)})`;
}
