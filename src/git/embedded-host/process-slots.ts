interface Claim {
  /** Goes before those that are not: a push is waited for by intents, a fetch is tried again. */
  readonly urgent: boolean;
  /** Whose it is, where one alone may not have all of them. */
  readonly key?: string;
  readonly signal: AbortSignal;
}

interface Waiter {
  readonly claim: Claim;
  readonly resolve: () => void;
}

/** How many processes run at once, and how many requests wait for one. What is beyond both is turned away at once. */
export class ProcessSlots {
  readonly #limit: number;
  readonly #ordinaryLimit: number;
  readonly #perKey: number;
  readonly #maxWaiting: number;
  readonly #running = new Set<Claim>();
  readonly #waiting: Waiter[] = [];

  /**
   * @param deps.maxWaiting of those that are urgent, and as many of the others
   * @param deps.reserved of the limit, for what is urgent alone
   * @param deps.perKey of one key, running, if it is not urgent; of those that wait a quarter may be of one key
   */
  constructor(deps: {
    readonly limit: number;
    readonly maxWaiting: number;
    readonly reserved?: number;
    readonly perKey?: number;
  }) {
    this.#limit = deps.limit;
    this.#ordinaryLimit = deps.limit - (deps.reserved ?? 0);
    this.#perKey = deps.perKey ?? Infinity;
    this.#maxWaiting = deps.maxWaiting;
  }

  /**
   * A slot, to be disposed of when the process has ended; `undefined` when too many wait already.
   *
   * @throws the signal's reason when aborted while waiting
   */
  async acquire(claim: Claim): Promise<Disposable | undefined> {
    claim.signal.throwIfAborted();
    // Its own object: one claim may be made several times.
    const held = { ...claim };
    if (this.#mayRun(held)) {
      this.#running.add(held);
    } else {
      if (!this.#mayWait(held)) return undefined;
      await this.#wait(held);
    }
    return { [Symbol.dispose]: () => this.#release(held) };
  }

  #mayRun({ urgent, key }: Claim): boolean {
    if (this.#running.size >= this.#limit) return false;
    if (urgent) return true;
    const ordinary = [...this.#running].filter((other) => !other.urgent);
    return ordinary.length < this.#ordinaryLimit && countOf(ordinary, key) < this.#perKey;
  }

  #mayWait({ urgent, key }: Claim): boolean {
    const alike = this.#waiting.map(({ claim }) => claim).filter((other) => other.urgent === urgent);
    if (alike.length >= this.#maxWaiting) return false;
    return urgent || this.#perKey === Infinity || countOf(alike, key) < Math.max(1, Math.floor(this.#maxWaiting / 4));
  }

  async #wait(claim: Claim): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<undefined>();
    const waiter: Waiter = { claim, resolve: () => resolve(undefined) };
    const firstNotUrgent = claim.urgent ? this.#waiting.findIndex((other) => !other.claim.urgent) : -1;
    this.#waiting.splice(firstNotUrgent < 0 ? this.#waiting.length : firstNotUrgent, 0, waiter);
    const onAbort = (): void => {
      const index = this.#waiting.indexOf(waiter);
      if (index < 0) return;
      this.#waiting.splice(index, 1);
      reject(claim.signal.reason instanceof Error ? claim.signal.reason : new Error('aborted'));
    };
    claim.signal.addEventListener('abort', onAbort, { once: true });
    try {
      await promise;
    } finally {
      claim.signal.removeEventListener('abort', onAbort);
    }
  }

  #release(claim: Claim): void {
    if (!this.#running.delete(claim)) return;
    const index = this.#waiting.findIndex((waiter) => this.#mayRun(waiter.claim));
    if (index < 0) return;
    const [next] = this.#waiting.splice(index, 1);
    if (next === undefined) return;
    this.#running.add(next.claim);
    next.resolve();
  }
}

function countOf(claims: readonly Claim[], key: string | undefined): number {
  return key === undefined ? 0 : claims.filter((other) => other.key === key).length;
}
