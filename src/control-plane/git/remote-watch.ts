import type { GitopsTarget } from '../../delivery/select-delivery.ts';
import { EMPTY_TREE_ID } from '../../git/git-object.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Logger } from '../../runtime/logger.ts';
import { OutsideChanges, type Inspector } from './outside-changes.ts';
import { repeat } from '../repeat.ts';
import { directoriesOfRepository, replaceDesiredRevision, type ClusterDirectory } from '../store/clusters.ts';
import { deliveryLock, workQueueKey } from '../store/delivery-queue.ts';
import { withExclusive } from '../store/exclusive.ts';
import type { Store } from '../store/open-store.ts';
import { repositoriesInUse } from '../store/repositories.ts';
import { configTopic, PROPOSALS_TOPIC } from '../topics.ts';
import type { Wakeups } from '../wakeups.ts';

const EVERY_MS = 30_000;
const OBSERVE_TIMEOUT_MS = 60_000;

/** The part of a gitops transport that tells what the remote holds. */
export interface Observer extends Inspector {
  observe(directories: readonly string[], signal: AbortSignal): Promise<ReadonlyMap<string, string>>;
}

export interface RemoteWatchDeps {
  readonly store: Store;
  readonly wakeups: Wakeups;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly open: (target: GitopsTarget) => Promise<Observer>;
}

/**
 * Looks at each repository now and then, for what others wrote: a reviewer's edit, a file removed by hand, a history put
 * back, a directory removed. Each cluster whose directory is not what was last known gets the new revision by `/config`, and its operator
 * applies or reports it. Nothing is written to Git here; what is to be written again goes to the queue.
 */
export class RemoteWatch {
  readonly #deps: RemoteWatchDeps;
  readonly #outside: OutsideChanges;

  constructor(deps: RemoteWatchDeps) {
    this.#deps = deps;
    this.#outside = new OutsideChanges(deps);
  }

  /** Runs until aborted. A repository that cannot be read now is looked at again at the next turn. */
  async run(stop: AbortSignal): Promise<void> {
    const { clock, logger } = this.#deps;
    const onError = (error: unknown): void =>
      logger.warn({ err: error }, 'looking at the repositories failed; trying again');
    await repeat({ everyMs: EVERY_MS, clock, onError }, async () => await this.turn(stop), stop);
  }

  /** One look at every repository. */
  async turn(stop: AbortSignal): Promise<void> {
    const { store } = this.#deps;
    for (const repositoryId of await repositoriesInUse(store.db)) {
      stop.throwIfAborted();
      try {
        // A repository that is being written to at this moment is looked at next time.
        await withExclusive(store, deliveryLock(workQueueKey({ mode: 'gitops', repositoryId })), async (held) => {
          const signal = AbortSignal.any([stop, held.signal, AbortSignal.timeout(OBSERVE_TIMEOUT_MS)]);
          await this.#look(repositoryId, signal);
        });
      } catch (error) {
        stop.throwIfAborted();
        this.#deps.logger.warn({ err: error, repositoryId }, 'a repository cannot be read; looking again later');
      }
    }
  }

  async #look(repositoryId: string, signal: AbortSignal): Promise<void> {
    const { store, wakeups, logger } = this.#deps;
    // Read before the remote is: a delivery in between changes the row, and this look then changes nothing.
    const clusters = await directoriesOfRepository(store.db, repositoryId);
    if (clusters.length === 0) return;
    const observer = await this.#deps.open({ mode: 'gitops', repositoryId });
    const found = await observer.observe(
      clusters.map(({ directory }) => directory),
      signal,
    );
    // A directory that is gone is an empty tree: its operator looks, keeps everything, and says so.
    const revisionOf = ({ directory }: ClusterDirectory): string => found.get(directory) ?? EMPTY_TREE_ID;
    const changed = clusters.filter((cluster) => revisionOf(cluster) !== cluster.desiredRevision);
    const again = await this.#outside.look(repositoryId, { all: clusters, changed }, observer, signal);
    for (const cluster of changed) {
      const { id, directory } = cluster;
      const revision = revisionOf(cluster);
      // Its receipts will say what the directory holds then.
      if (again.has(id)) continue;
      const replaced = await store.write(async (trx) => await replaceDesiredRevision(trx, cluster, revision));
      if (!replaced) continue;
      wakeups.notify(configTopic(id));
      wakeups.notify(PROPOSALS_TOPIC);
      logger.info({ clusterId: id, directory, revision }, 'somebody else changed the directory of a cluster in Git');
    }
  }
}
