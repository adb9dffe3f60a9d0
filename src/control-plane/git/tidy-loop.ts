import type { EmbeddedHost } from '../../git/embedded-host/embedded-host.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Logger } from '../../runtime/logger.ts';
import { repeat } from '../repeat.ts';
import { wantedProjections } from './projection-targets.ts';
import type { Store } from '../store/open-store.ts';
import { embeddedRepositories } from '../store/repositories.ts';

const EVERY_MS = 3_600_000;
const TIMEOUT_MS = 600_000;

export interface TidyLoopDeps {
  readonly store: Store;
  readonly host: Pick<EmbeddedHost, 'tidy' | 'tidyProjections'>;
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * Packs the embedded repositories every hour: each pushed object is a file of its own at first, and a year of them would
 * make each read slow. Of the clusters' own repositories those that need it; one that no cluster has any more goes. A loop of its own, since it may take minutes and nothing else must wait for it.
 */
export class TidyLoop {
  readonly #deps: TidyLoopDeps;

  constructor(deps: TidyLoopDeps) {
    this.#deps = deps;
  }

  /** Runs until aborted. A repository that fails is tried again an hour later. */
  async run(stop: AbortSignal): Promise<void> {
    const { clock, logger } = this.#deps;
    const onError = (error: unknown): void =>
      logger.warn({ err: error }, 'the repositories could not be looked through; trying again');
    await repeat({ everyMs: EVERY_MS, clock, onError }, async () => await this.#turn(stop), stop);
  }

  async #turn(stop: AbortSignal): Promise<void> {
    const { store, host, logger } = this.#deps;
    for (const name of await embeddedRepositories(store.db)) {
      stop.throwIfAborted();
      try {
        await host.tidy(name, AbortSignal.any([stop, AbortSignal.timeout(TIMEOUT_MS)]));
      } catch (error) {
        stop.throwIfAborted();
        logger.warn({ err: error, repository: name }, 'a repository could not be tidied; trying again in an hour');
      }
    }
    await host.tidyProjections(async () => await wantedProjections(store.db), stop);
  }
}
