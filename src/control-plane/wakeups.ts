import type { Clock } from '../runtime/clock.ts';

/** Wakings of a wake-up of everything that come together. */
const SPREAD_STEP_MS = 50;
/** Topics woken in a millisecond then: each costs a few reads. */
const MAX_PER_MS = 1;

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
 * What is waited for is in the database; a wake-up only says: look again. Within one process, unless `WakeupRelay`
 * carries it to other replicas.
 */
export class Wakeups {
  readonly #clock: Clock;
  readonly #versions = new Map<string, number>();
  readonly #waiting = new Map<string, Set<() => void>>();
  /** Raised for every notification; also the version of every topic that is not remembered. */
  #latest = 0;
  #forgottenAt = 0;
  #forward: ((topic: string) => void) | undefined;

  constructor(deps: { readonly clock: Clock }) {
    this.#clock = deps.clock;
  }

  /** Call after the change is committed, never before. */
  notify(topic: string): void {
    this.wake(topic);
    this.#forward?.(topic);
  }

  /** Who hears of each notification too: those who carry it to other replicas. */
  forwardTo(forward: (topic: string) => void): void {
    this.#forward = forward;
  }

  /** Wakes those of this process alone: the change was made by another replica. */
  wake(topic: string): void {
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

  /** Whether anybody waits for the topic now. */
  isAwaited(topic: string): boolean {
    return this.#waiting.has(topic);
  }

  /**
   * Anything may have changed: every topic reads as changed at once, and those who wait are woken a few at a time over
   * `spreadMs`, longer where there are many, so that tens of thousands do not look in one moment.
   *
   * @throws the signal's reason when aborted first
   */
  async wakeAll(spreadMs: number, signal: AbortSignal): Promise<void> {
    this.#latest += 1;
    this.#versions.clear();
    this.#forgottenAt = this.#latest;
    const topics = [...this.#waiting.keys()];
    const overMs = Math.max(spreadMs, topics.length / MAX_PER_MS);
    const steps = Math.max(1, Math.min(topics.length, Math.floor(overMs / SPREAD_STEP_MS)));
    const perStep = Math.ceil(topics.length / steps);
    for (let start = 0; start < topics.length; start += perStep) {
      if (start > 0) await this.#clock.sleep(SPREAD_STEP_MS, signal);
      for (const topic of topics.slice(start, start + perStep)) {
        for (const wake of this.#waiting.get(topic) ?? []) wake();
      }
    }
  }

  #forgetOldest(): void {
    const [oldest] = this.#versions.keys();
    if (oldest === undefined) return;
    this.#forgottenAt = Math.max(this.#forgottenAt, this.#versions.get(oldest) ?? 0);
    this.#versions.delete(oldest);
  }
}
