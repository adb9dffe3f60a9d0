import type { Clock } from './clock.ts';

/**
 * A level-triggered bell: a ring that nobody waits for is remembered, and rings that come together wake once.
 * For one waiter, a loop that reads its state after each wake and so never misses a change.
 */
export class Wake {
  #rung = false;
  #waiter: (() => void) | undefined;

  ring(): void {
    this.#rung = true;
    this.#waiter?.();
  }

  /** Resolves at the next ring, or at once after one that nobody heard. Rejects with the signal's reason. */
  async wait(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (!this.#rung) {
      await new Promise<void>((resolve, reject) => {
        const aborted = (): void => {
          this.#waiter = undefined;
          reject(signal.reason as Error);
        };
        this.#waiter = () => {
          this.#waiter = undefined;
          signal.removeEventListener('abort', aborted);
          resolve();
        };
        signal.addEventListener('abort', aborted, { once: true });
      });
    }
    this.#rung = false;
  }

  /** The same, but no longer than `ms` milliseconds. */
  async waitAtMost(ms: number, clock: Clock, signal: AbortSignal): Promise<'rung' | 'elapsed'> {
    const either = new AbortController();
    const stop = AbortSignal.any([signal, either.signal]);
    try {
      return await Promise.race([
        this.wait(stop).then(() => 'rung' as const),
        clock.sleep(ms, stop).then(() => 'elapsed' as const),
      ]);
    } finally {
      either.abort();
    }
  }
}
