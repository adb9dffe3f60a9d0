import type { FastifyRateLimitStore } from '@fastify/rate-limit';

/** Counters kept of each group; the least recently used goes first, which at worst forgives somebody. */
const MAX_COUNTERS = 50_000;

interface Counter {
  count: number;
  /** On the clock of `performance`, which nobody sets back. */
  endsAt: number;
}

/**
 * Counts requests in windows, one count a key for all routes of a group: the library's own store counts each route apart,
 * and a limit over three routes would be three limits.
 */
export class RateCounters implements FastifyRateLimitStore {
  readonly #groups = new Map<string, RateCounters>();
  readonly #counters = new Map<string, Counter>();

  incr(
    key: string,
    answer: (error: Error | null, result?: { current: number; ttl: number }) => void,
    windowMs: number,
  ): void {
    const now = performance.now();
    const known = this.#counters.get(key);
    const counter = known === undefined || known.endsAt <= now ? { count: 0, endsAt: now + windowMs } : known;
    counter.count += 1;
    // Last again: a map keeps the order in which its keys came.
    this.#counters.delete(key);
    this.#counters.set(key, counter);
    if (this.#counters.size > MAX_COUNTERS) {
      for (const [oldest] of this.#counters.entries().take(1)) this.#counters.delete(oldest);
    }
    answer(null, { current: counter.count, ttl: counter.endsAt - now });
  }

  /** Called once for each route, with what `limited` says of it. */
  child(route: object): RateCounters {
    const group = 'groupId' in route ? String(route.groupId) : '';
    const counters = this.#groups.get(group) ?? new RateCounters();
    this.#groups.set(group, counters);
    return counters;
  }
}
