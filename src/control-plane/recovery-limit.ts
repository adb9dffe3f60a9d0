import { AppError } from '../protocol/app-error.ts';
import type { Clock } from '../runtime/clock.ts';

/** Recoveries of one cluster within an hour (decisions, "Register, rotate, config"). */
export const MAX_RECOVERIES = 5;
export const RECOVERY_WINDOW_MS = 3_600_000;
/** Ids remembered. An address may ask some hundred times a minute, so that one alone cannot push another's id out. */
const MAX_REMEMBERED = 20_000;

/**
 * Counts who asks for a recovery, by the cluster id that is named, whether there is such a cluster or not: a limit for
 * known ones alone would tell which there are. What was really issued is counted in the database besides.
 */
export class RecoveryLimit {
  readonly #clock: Clock;
  /** By cluster id: when each of the last requests came, the oldest first. The id that asked last is at the end. */
  readonly #asked = new Map<string, number[]>();

  constructor(deps: { readonly clock: Clock }) {
    this.#clock = deps.clock;
  }

  /** @throws AppError `rate_limited`, with the time until the oldest of the five no longer counts */
  count(clusterId: string): void {
    const now = this.#clock.now().getTime();
    const times = (this.#asked.get(clusterId) ?? []).filter((at) => now - at < RECOVERY_WINDOW_MS);
    const [oldest] = times;
    if (oldest !== undefined && times.length >= MAX_RECOVERIES) throw tooMany(oldest, now);
    this.#asked.delete(clusterId);
    this.#asked.set(clusterId, [...times, now]);
    const [first] = this.#asked.keys();
    if (this.#asked.size > MAX_REMEMBERED && first !== undefined) this.#asked.delete(first);
  }
}

/** @param oldest when the oldest of those that count came, in milliseconds */
export function tooMany(oldest: number, now: number): AppError {
  return new AppError('rate_limited', `more than ${MAX_RECOVERIES} recoveries of this cluster within an hour`, {
    retryAfterSeconds: (oldest + RECOVERY_WINDOW_MS - now) / 1000,
  });
}
