import { CHECK_LIMIT_MS } from '../../src/control-plane/values-checker.ts';
import { systemClock, type Clock } from '../../src/runtime/clock.ts';

/** Real time, but for the limit of a check by a schema: it has passed when the test says so. */
export class CheckLimitClock implements Clock {
  readonly #held = new Set<() => void>();

  now(): Date {
    return systemClock.now();
  }

  async sleep(ms: number, signal?: AbortSignal): Promise<void> {
    if (ms !== CHECK_LIMIT_MS) return await systemClock.sleep(ms, signal);
    signal?.throwIfAborted();
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    signal?.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
    this.#held.add(resolve);
    try {
      await promise;
    } finally {
      this.#held.delete(resolve);
    }
  }

  /** How many checks run now. */
  get held(): number {
    return this.#held.size;
  }

  passLimit(): void {
    for (const end of this.#held) end();
  }
}
