import type { Clock } from '../../../runtime/clock.ts';

/** A host that names no time is left alone for this long (GitHub, "Best practices for using the REST API"). */
const UNNAMED_MS = 60_000;
const LONGEST_MS = 3_600_000;

/**
 * Until when a host wants no requests, by the origin of its API: a limit is counted for the credential or the address that
 * asks, so one refused request stands for all of them.
 */
export class HostPauses {
  readonly #clock: Clock;
  readonly #until = new Map<string, number>();
  readonly #written = new Map<string, number>();

  constructor(deps: { readonly clock: Clock }) {
    this.#clock = deps.clock;
  }

  /** Milliseconds for which nothing may be asked; 0 when it may. */
  leftMs(origin: string): number {
    const left = (this.#until.get(origin) ?? 0) - this.#clock.now().getTime();
    if (left <= 0) this.#until.delete(origin);
    return Math.max(0, left);
  }

  /** Takes the next turn to write: answers in how many milliseconds that is. Turns are `gapMs` apart. */
  takeTurn(origin: string, gapMs: number): number {
    const now = this.#clock.now().getTime();
    const at = Math.max(now, (this.#written.get(origin) ?? Number.NEGATIVE_INFINITY) + gapMs);
    this.#written.set(origin, at);
    return at - now;
  }

  /** Reads what an answer says of limits. Answers how long the host is left alone now, where it is. */
  heed(origin: string, answer: { readonly status: number; readonly headers: Headers; readonly text: string }): number {
    if (!isLimited(answer)) return 0;
    const now = this.#clock.now().getTime();
    const asked = askedMs(answer.headers, now) ?? UNNAMED_MS;
    // A second at the least: some hosts name the second that is just ending.
    const ms = Math.min(Math.max(asked, 1000), LONGEST_MS);
    this.#until.set(origin, Math.max(this.#until.get(origin) ?? 0, now + ms));
    return ms;
  }
}

/** GitHub answers 403 as well as 429, for its secondary limits without saying so in a header. */
function isLimited({ status, headers, text }: { status: number; headers: Headers; text: string }): boolean {
  if (status === 429) return true;
  if (status !== 403) return false;
  return (
    headers.has('retry-after') || headers.get('x-ratelimit-remaining') === '0' || /secondary rate limit/i.test(text)
  );
}

/** `Retry-After` (seconds or a date, RFC 9110), else the second at which the limit is counted anew (GitHub, GitLab). */
function askedMs(headers: Headers, now: number): number | undefined {
  const after = headers.get('retry-after');
  if (after !== null) {
    const ms = /^\d{1,9}$/.test(after) ? Number(after) * 1000 : Date.parse(after) - now;
    if (!Number.isNaN(ms)) return ms;
  }
  const reset = headers.get('x-ratelimit-reset') ?? headers.get('ratelimit-reset');
  return reset !== null && /^\d{1,12}$/.test(reset) ? Number(reset) * 1000 - now : undefined;
}
