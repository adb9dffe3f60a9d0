import type { Clock } from '../../runtime/clock.ts';
import type { Logger } from '../../runtime/logger.ts';
import { repeat } from '../repeat.ts';

const EVERY_MS = 3_600_000;
const TIMEOUT_MS = 30 * 60_000;

/** Keeps this process's mirrors of other hosts' repositories fast, every hour. Each replica has its own. */
export class MirrorLoop {
  readonly #deps: {
    readonly maintain: (signal: AbortSignal) => Promise<void>;
    readonly clock: Clock;
    readonly logger: Logger;
  };

  constructor(deps: {
    readonly maintain: (signal: AbortSignal) => Promise<void>;
    readonly clock: Clock;
    readonly logger: Logger;
  }) {
    this.#deps = deps;
  }

  /** Runs until aborted. */
  async run(stop: AbortSignal): Promise<void> {
    const { maintain, clock, logger } = this.#deps;
    const onError = (error: unknown): void =>
      logger.warn({ err: error }, 'the Git mirrors could not be maintained; trying again in an hour');
    const turn = async (): Promise<void> => await maintain(AbortSignal.any([stop, AbortSignal.timeout(TIMEOUT_MS)]));
    await repeat({ everyMs: EVERY_MS, clock, onError }, turn, stop);
  }
}
