import { AppError } from '../../protocol/app-error.ts';
import { untilAborted } from '../../runtime/until-aborted.ts';

/** Beyond that, somebody asks faster than a host answers. */
const MAX_WAITING = 32;

/** One at a time for each host, in the order of asking. */
export class HostTurns {
  readonly #tails = new Map<string, Promise<void>>();
  #waiting = 0;

  /** @throws AppError `unavailable` where too many wait; the signal's reason; whatever `work` throws */
  async take<T>(host: string, work: () => Promise<T>, signal: AbortSignal): Promise<T> {
    if (this.#waiting >= MAX_WAITING) {
      const message = 'too many lists of versions are being asked for; ask again in a while';
      throw new AppError('unavailable', message, { retryAfterSeconds: 30 });
    }
    const before = this.#tails.get(host) ?? Promise.resolve();
    const { promise: mine, resolve: release } = Promise.withResolvers<void>();
    const tail = before.then(async () => await mine);
    this.#tails.set(host, tail);
    this.#waiting += 1;
    try {
      await untilAborted(before, signal);
      return await work();
    } finally {
      this.#waiting -= 1;
      release();
      if (this.#tails.get(host) === tail) this.#tails.delete(host);
    }
  }
}
