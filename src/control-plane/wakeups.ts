import type { Clock } from '../runtime/clock.ts';

/** Topics whose version is remembered. A forgotten one reads as changed, which costs a look, never a lost wake-up. */
const MAX_TOPICS = 50_000;

/**
 * Wakes requests that are held open. A topic has a version that each `notify` raises, so nothing that happens between a
 * look at the state and the wait for a change of it is lost:
 *
 * ```
 * const seen = wakeups.version(topic);   // first
 * look at the state;                     // then
 * await wakeups.waitFor(topic, seen, …)  // returns at once when the topic was notified since
 * ```
 *
 * Within one process. What is waited for is in the database; a wake-up only says: look again.
 */
export class Wakeups {
  readonly #clock: Clock;
  readonly #versions = new Map<string, number>();
  readonly #waiting = new Map<string, Set<() => void>>();
  /** Raised for every notification; also the version of every topic that is not remembered. */
  #latest = 0;
  #forgottenAt = 0;

  constructor(deps: { readonly clock: Clock }) {
    this.#clock = deps.clock;
  }

  /** Call after the change is committed, never before. */
  notify(topic: string): void {
    this.#latest += 1;
    this.#versions.delete(topic);
    this.#versions.set(topic, this.#latest);
    if (this.#versions.size > MAX_TOPICS) this.#forgetOldest();
    for (const wake of this.#waiting.get(topic) ?? []) wake();
  }

  /** The topic's version, to be taken before the state is looked at. */
  version(topic: string): number {
    return this.#versions.get(topic) ?? this.#forgottenAt;
  }

  /**
   * Waits until the topic's version differs from `sinceVersion`, or `ms` milliseconds.
   *
   * @throws the signal's reason when aborted first
   */
  async waitFor(topic: string, sinceVersion: number, signal: AbortSignal, ms: number): Promise<'notified' | 'elapsed'> {
    signal.throwIfAborted();
    if (this.version(topic) !== sinceVersion) return 'notified';
    const { promise, resolve } = Promise.withResolvers<'notified'>();
    const wake = (): void => {
      resolve('notified');
    };
    const waiting = this.#waiting.get(topic) ?? new Set();
    this.#waiting.set(topic, waiting.add(wake));
    const timer = new AbortController();
    try {
      const elapsed = this.#clock.sleep(ms, AbortSignal.any([signal, timer.signal])).then(() => 'elapsed' as const);
      return await Promise.race([promise, elapsed]);
    } catch (error) {
      signal.throwIfAborted();
      throw error;
    } finally {
      timer.abort();
      waiting.delete(wake);
      if (waiting.size === 0 && this.#waiting.get(topic) === waiting) this.#waiting.delete(topic);
    }
  }

  /** Waits for a notification from now on. What was looked at before may have changed already: see `waitFor`. */
  async wait(topic: string, signal: AbortSignal, ms: number): Promise<'notified' | 'elapsed'> {
    return await this.waitFor(topic, this.version(topic), signal, ms);
  }

  /** Calls `wake` at each notification until `unwatch`. For one that waits on behalf of thousands: it costs an entry. */
  watch(topic: string, wake: () => void): void {
    const waiting = this.#waiting.get(topic) ?? new Set();
    this.#waiting.set(topic, waiting.add(wake));
  }

  unwatch(topic: string, wake: () => void): void {
    const waiting = this.#waiting.get(topic);
    waiting?.delete(wake);
    if (waiting?.size === 0) this.#waiting.delete(topic);
  }

  #forgetOldest(): void {
    const [oldest] = this.#versions.keys();
    if (oldest === undefined) return;
    this.#forgottenAt = Math.max(this.#forgottenAt, this.#versions.get(oldest) ?? 0);
    this.#versions.delete(oldest);
  }
}
