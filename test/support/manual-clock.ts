import type { Clock } from '../../src/runtime/clock.ts';

/** A clock that a test moves. A sleep ends when the clock has been moved past it. */
export class ManualClock implements Clock {
  #now: number;
  readonly #sleeping = new Set<{ readonly at: number; readonly wake: () => void }>();

  constructor(start = '2026-03-01T10:00:00.000Z') {
    this.#now = Date.parse(start);
  }

  now(): Date {
    return new Date(this.#now);
  }

  async sleep(ms: number, signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted();
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const entry = { at: this.#now + ms, wake: resolve };
    const abort = (): void => {
      reject(signal?.reason as Error);
    };
    signal?.addEventListener('abort', abort, { once: true });
    this.#sleeping.add(entry);
    try {
      await promise;
    } finally {
      this.#sleeping.delete(entry);
      signal?.removeEventListener('abort', abort);
    }
  }

  /** How many sleep now: a test waits for it to know that the code under test has come to its wait. */
  get sleeping(): number {
    return this.#sleeping.size;
  }

  advance(ms: number): void {
    this.#now += ms;
    for (const entry of this.#sleeping) {
      if (entry.at <= this.#now) entry.wake();
    }
  }
}
