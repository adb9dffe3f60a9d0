import { setTimeout as delay } from 'node:timers/promises';

/** Time as the programs see it. Passed in everywhere, so that a test moves it by hand and never sleeps. */
export interface Clock {
  /** Wall-clock time now. */
  now(): Date;
  /** Resolves after `ms` milliseconds; rejects with the signal's reason when aborted first. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

export const systemClock: Clock = {
  now: () => new Date(),
  sleep: async (ms, signal) => {
    await delay(ms, undefined, signal === undefined ? {} : { signal });
  },
};
