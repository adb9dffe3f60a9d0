import type { Clock } from '../../src/runtime/clock.ts';

interface Sleeper {
  readonly at: number;
  readonly wake: () => void;
}

/** Timers of Node hold 31 bits; nothing here is waited for so long in real time. */
const LONGEST_MS = 2 ** 31 - 1;

/**
 * Real time, of which a test may skip a part: for whole programs, whose network goes on in real time. One timer for all who
 * sleep, since a test skips often and most of them sleep on.
 */
export class SkippingClock implements Clock {
  #skipped = 0;
  readonly #sleeping = new Set<Sleeper>();
  #timer: NodeJS.Timeout | undefined;
  #armedFor = Infinity;

  now(): Date {
    return new Date(this.#now());
  }

  async sleep(ms: number, signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted();
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const sleeper: Sleeper = { at: this.#now() + ms, wake: resolve };
    const abort = (): void => reject(signal?.reason as Error);
    signal?.addEventListener('abort', abort, { once: true });
    this.#sleeping.add(sleeper);
    if (sleeper.at < this.#armedFor) this.#arm(sleeper.at);
    try {
      await promise;
    } finally {
      this.#sleeping.delete(sleeper);
      if (this.#sleeping.size === 0) this.#disarm();
      signal?.removeEventListener('abort', abort);
    }
  }

  /** It is so much later at once. Who would have woken meanwhile wakes now. */
  skip(ms: number): void {
    this.#skipped += ms;
    this.#look();
  }

  #now(): number {
    return Date.now() + this.#skipped;
  }

  #look(): void {
    this.#disarm();
    const now = this.#now();
    let next = Infinity;
    for (const sleeper of this.#sleeping) {
      if (sleeper.at > now) {
        next = Math.min(next, sleeper.at);
        continue;
      }
      this.#sleeping.delete(sleeper);
      sleeper.wake();
    }
    if (next !== Infinity) this.#arm(next);
  }

  #arm(at: number): void {
    this.#disarm();
    this.#armedFor = at;
    this.#timer = setTimeout(() => this.#look(), Math.min(Math.max(0, at - this.#now()), LONGEST_MS));
  }

  #disarm(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#armedFor = Infinity;
  }
}
