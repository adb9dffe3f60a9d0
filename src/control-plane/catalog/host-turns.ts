import { AppError } from '../../protocol/app-error.ts';
import { untilAborted } from '../../runtime/until-aborted.ts';

/** Of one organization; beyond that, it asks faster than its hosts answer. */
const MAX_WAITING = 32;
const LONGEST_WAIT_MS = 60_000;

/** One at a time for each host, in the order of asking. */
export class HostTurns {
  readonly #tails = new Map<string, Promise<void>>();
  /** How many wait or are being asked for, by organization. */
  readonly #waiting = new Map<string, number>();

  /**
   * @param organizationId for whom it is asked
   * @throws AppError `unavailable` where too many of the organization's wait, or the turn does not come within a minute; the
   *   signal's reason; whatever `work` throws
   */
  async take<T>(host: string, organizationId: string, work: () => Promise<T>, signal: AbortSignal): Promise<T> {
    if ((this.#waiting.get(organizationId) ?? 0) >= MAX_WAITING) {
      throw busy('too many lists of versions are being asked for; ask again in a while');
    }
    const before = this.#tails.get(host) ?? Promise.resolve();
    const { promise: mine, resolve: release } = Promise.withResolvers<void>();
    const tail = before.then(async () => await mine);
    this.#tails.set(host, tail);
    // Not before those ahead are through: who gives up waiting lets nobody pass them.
    void tail.then(() => {
      if (this.#tails.get(host) === tail) this.#tails.delete(host);
    });
    this.#count(organizationId, 1);
    try {
      await waitFor(before, host, signal);
      return await work();
    } finally {
      this.#count(organizationId, -1);
      release();
    }
  }
  #count(organizationId: string, change: 1 | -1): void {
    const count = (this.#waiting.get(organizationId) ?? 0) + change;
    if (count === 0) this.#waiting.delete(organizationId);
    else this.#waiting.set(organizationId, count);
  }
}

async function waitFor(before: Promise<void>, host: string, signal: AbortSignal): Promise<void> {
  const timeout = AbortSignal.timeout(LONGEST_WAIT_MS);
  try {
    await untilAborted(before, AbortSignal.any([signal, timeout]));
  } catch (error) {
    if (signal.aborted || !timeout.aborted) throw error;
    throw busy(`others are asking ${host} for lists of versions; ask again in a while`);
  }
}

function busy(message: string): AppError {
  return new AppError('unavailable', message, { retryAfterSeconds: 30 });
}
