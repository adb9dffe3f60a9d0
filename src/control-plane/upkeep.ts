import type { Clock } from '../runtime/clock.ts';
import type { Logger } from '../runtime/logger.ts';
import { trimChanges } from './changes/change-retention.ts';
import { renewalThreshold, type GitSources } from './git/git-source.ts';
import { keepJobs } from './jobs/job-upkeep.ts';
import { repeat } from './repeat.ts';
import { ReportRetention } from './report-retention.ts';
import { deleteEndedAgentCredentials, ENDED_CREDENTIALS_KEPT_MS } from './store/agent-credentials.ts';
import { raiseConfigRevision } from './store/clusters.ts';
import { clustersWithAgeingCredential, deleteUselessGitCredentials } from './store/git-credentials.ts';
import type { Store } from './store/open-store.ts';
import { deleteRequestAnswersBefore, REQUEST_ANSWERS_KEPT_MS } from './store/request-answers.ts';
import { deleteRequestKeysBefore, REQUEST_KEY_LIFETIME_MS } from './store/request-keys.ts';
import { configTopic } from './topics.ts';
import type { Wakeups } from './wakeups.ts';

const EVERY_MS = 60_000;
/** Renewals in one turn: thousands of clusters that registered in one hour do not renew in one second. */
const MAX_RENEWALS = 100;

export interface UpkeepDeps {
  readonly store: Store;
  readonly wakeups: Wakeups;
  readonly gitSources: GitSources;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** What time brings: rows of no more use go, and Git read credentials are renewed before their clusters need new ones. */
export class Upkeep {
  readonly #deps: UpkeepDeps;
  readonly #retention: ReportRetention;

  constructor(deps: UpkeepDeps) {
    this.#deps = deps;
    this.#retention = new ReportRetention(deps);
  }

  /** Runs until aborted. A turn that fails is tried again at the next. */
  async run(stop: AbortSignal): Promise<void> {
    const { clock, logger } = this.#deps;
    const onError = (error: unknown): void => logger.warn({ err: error }, 'upkeep failed; trying again');
    await repeat({ everyMs: EVERY_MS, clock, onError }, async () => await this.turn(), stop);
  }

  /** One turn. A second one with nothing new writes nothing that matters. */
  async turn(): Promise<void> {
    const { store, clock, wakeups, gitSources, logger } = this.#deps;
    const now = clock.now();
    await store.write(async (trx) => {
      await deleteUselessGitCredentials(trx, now);
      await deleteEndedAgentCredentials(trx, new Date(now.getTime() - ENDED_CREDENTIALS_KEPT_MS).toISOString());
      await deleteRequestKeysBefore(trx, new Date(now.getTime() - REQUEST_KEY_LIFETIME_MS).toISOString());
      await deleteRequestAnswersBefore(trx, new Date(now.getTime() - REQUEST_ANSWERS_KEPT_MS).toISOString());
    });
    const ageing = await clustersWithAgeingCredential(store.db, renewalThreshold(now), MAX_RENEWALS);
    for (const { clusterId, repositoryId } of ageing) {
      try {
        await gitSources.renew(clusterId, repositoryId);
        await store.write(async (trx) => await raiseConfigRevision(trx, clusterId));
        wakeups.notify(configTopic(clusterId));
      } catch (error) {
        // One cluster's trouble must not keep the others from their renewal.
        logger.warn({ err: error, clusterId }, 'Git read credential not renewed; trying again');
      }
    }
    await keepJobs(this.#deps);
    await this.#retention.turn();
    await trimChanges(this.#deps);
  }
}
