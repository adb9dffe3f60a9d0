/** Lets work on one thing (a repository) run one after the other, in the order in which it came. */
export class Turns {
  readonly #last = new Map<string, Promise<void>>();

  /** Runs work on `key` in its turn. */
  taker(key: string): <Value>(work: () => Promise<Value>) => Promise<Value> {
    return async (work) => {
      const result = (this.#last.get(key) ?? Promise.resolve()).then(work);
      const done = result.then(
        () => undefined,
        () => undefined,
      );
      this.#last.set(key, done);
      void done.then(() => {
        if (this.#last.get(key) === done) this.#last.delete(key);
      });
      return result;
    };
  }
}
