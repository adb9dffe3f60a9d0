/** How many processes run at once, and how many requests wait for one. What is beyond both is turned away at once. */
export class ProcessSlots {
  readonly #limit: number;
  readonly #maxWaiting: number;
  #running = 0;
  readonly #waiting: { readonly resolve: () => void; readonly urgent: boolean }[] = [];

  constructor(deps: { readonly limit: number; readonly maxWaiting: number }) {
    this.#limit = deps.limit;
    this.#maxWaiting = deps.maxWaiting;
  }

  /**
   * A slot, to be disposed of when the process has ended; `undefined` when too many wait already.
   *
   * @param options.urgent goes before those who are not: a push is waited for by intents, a fetch is tried again
   * @throws the signal's reason when aborted while waiting
   */
  async acquire(options: { readonly urgent: boolean; readonly signal: AbortSignal }): Promise<Disposable | undefined> {
    options.signal.throwIfAborted();
    if (this.#running < this.#limit) {
      this.#running += 1;
    } else {
      if (this.#waiting.length >= this.#maxWaiting) return undefined;
      await this.#wait(options);
    }
    return { [Symbol.dispose]: this.#release() };
  }

  async #wait(options: { readonly urgent: boolean; readonly signal: AbortSignal }): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<undefined>();
    const waiter = { resolve: () => resolve(undefined), urgent: options.urgent };
    const firstNotUrgent = options.urgent ? this.#waiting.findIndex((other) => !other.urgent) : -1;
    this.#waiting.splice(firstNotUrgent < 0 ? this.#waiting.length : firstNotUrgent, 0, waiter);
    const onAbort = (): void => {
      const index = this.#waiting.indexOf(waiter);
      if (index < 0) return;
      this.#waiting.splice(index, 1);
      reject(options.signal.reason instanceof Error ? options.signal.reason : new Error('aborted'));
    };
    options.signal.addEventListener('abort', onAbort, { once: true });
    try {
      await promise;
    } finally {
      options.signal.removeEventListener('abort', onAbort);
    }
  }

  #release(): () => void {
    let released = false;
    return () => {
      if (released) return;
      released = true;
      const next = this.#waiting.shift();
      if (next === undefined) this.#running -= 1;
      else next.resolve();
    };
  }
}
