import type { Clock } from '../../src/runtime/clock.ts';

interface Sleeper {
  readonly at: number;
  readonly wake: () => void;
  timer: NodeJS.Timeout;
}

/** Real time, of which a test may skip a part: for whole programs, whose network goes on in real time. */
export class SkippingClock implements Clock {
  #skipped = 0;
  readonly #sleeping = new Set<Sleeper>();

  now(): Date {
    return new Date(Date.now() + this.#skipped);
  }

  async sleep(ms: number, signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted();
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const sleeper: Sleeper = { at: this.now().getTime() + ms, wake: resolve, timer: armed(ms, resolve) };
    const abort = (): void => reject(signal?.reason as Error);
    signal?.addEventListener('abort', abort, { once: true });
    this.#sleeping.add(sleeper);
    try {
      await promise;
    } finally {
      clearTimeout(sleeper.timer);
      this.#sleeping.delete(sleeper);
      signal?.removeEventListener('abort', abort);
    }
  }

  /** It is so much later at once. Who would have woken meanwhile wakes now. */
  skip(ms: number): void {
    this.#skipped += ms;
    const now = this.now().getTime();
    for (const sleeper of this.#sleeping) {
      clearTimeout(sleeper.timer);
      sleeper.timer = armed(Math.max(0, sleeper.at - now), sleeper.wake);
    }
  }
}

/** Timers of Node hold 31 bits; nothing here is waited for so long in real time. */
function armed(ms: number, wake: () => void): NodeJS.Timeout {
  return setTimeout(wake, Math.min(ms, 2 ** 31 - 1));
}
