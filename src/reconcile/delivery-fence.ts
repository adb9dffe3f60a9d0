/**
 * Lets passes over desired sets through one after the other, and changes what they go by only between them:
 *
 *     passes ── raise ──► the pass under way ends between two items ──► change ──► passes, which go by the new
 *
 * So once `raise` has resolved, no write of the old way is under way and none will start: what waited for its turn ends
 * without a look at its items.
 */
export class DeliveryFence {
  #last: Promise<unknown> = Promise.resolve();
  #ending = new AbortController();

  /** Runs `work` when its turn comes; `ended` is aborted when it is to stop between two items. Rejects as `work` does. */
  async pass<T>(work: (ended: AbortSignal) => Promise<T>, signal: AbortSignal): Promise<T> {
    const ended = this.#ending.signal;
    return await this.#inTurn(async () => {
      signal.throwIfAborted();
      return await work(ended);
    });
  }

  /** Ends what is under way and then makes the change. Requests that were sent are waited for: each has a timeout. */
  async raise(change: () => void): Promise<void> {
    this.#ending.abort();
    this.#ending = new AbortController();
    await this.#inTurn(async () => {
      change();
      await Promise.resolve();
    });
  }

  async #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#last.then(work);
    this.#last = turn.catch(() => undefined);
    return await turn;
  }
}
