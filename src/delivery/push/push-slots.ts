import type { Clock } from '../../runtime/clock.ts';

/**
 * Bounds what is done at once over the whole fleet. Who takes longer than its patience gives its place up and goes on
 * without one: so API servers that hang keep nobody waiting. How many of those there are is bounded by the delivery loop.
 */
export class PushSlots {
  readonly #clock: Clock;
  readonly #patienceMs: number;
  readonly #waiting: (() => void)[] = [];
  #free: number;

  constructor(deps: { readonly clock: Clock; readonly size?: number; readonly patienceMs?: number }) {
    this.#clock = deps.clock;
    this.#free = deps.size ?? 64;
    this.#patienceMs = deps.patienceMs ?? 2000;
  }

  /** Does `work` in a place of its own, as soon as there is one. */
  async use<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T> {
    await this.#enter(signal);
    const done = new AbortController();
    let isIn = true;
    const leave = (): void => {
      if (!isIn) return;
      isIn = false;
      this.#leave();
    };
    void this.#clock.sleep(this.#patienceMs, done.signal).then(leave, () => undefined);
    try {
      return await work();
    } finally {
      done.abort();
      leave();
    }
  }

  async #enter(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (this.#free > 0) {
      this.#free -= 1;
      return;
    }
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const onAbort = (): void => {
      const at = this.#waiting.indexOf(resolve);
      // Not there any more: it has its place, and gives it back by `leave`.
      if (at !== -1) {
        this.#waiting.splice(at, 1);
        reject(signal.reason as Error);
      }
    };
    this.#waiting.push(resolve);
    signal.addEventListener('abort', onAbort, { once: true });
    try {
      await promise;
    } finally {
      signal.removeEventListener('abort', onAbort);
    }
  }

  #leave(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#free += 1;
    else next();
  }
}
