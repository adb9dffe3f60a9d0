import type { ClusterApi, Informer } from '../../kube/cluster-api.ts';
import { createInformer } from '../../kube/informer.ts';
import { WorkQueue, type WorkResult } from '../../kube/work-queue.ts';
import type { KubeObject } from '../../resources/kube-object.ts';
import { VELERO_BACKUP, VELERO_RESTORE, VELERO_STORAGE_LOCATION } from '../../resources/velero.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Logger } from '../../runtime/logger.ts';
import { BackupShelf, keyOf } from './backup-shelf.ts';
import { carryOutBackup, carryOutRestore, validateLocation, type CarryOutDeps } from './carry-out.ts';

export interface VeleroControllerDeps {
  readonly api: ClusterApi;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Milliseconds that the work takes; all 0 is as fast as the API server answers. */
  readonly timing: CarryOutDeps['timing'];
  /** In [0, 1); default `Math.random`. */
  readonly random?: () => number;
}

export interface VeleroController extends AsyncDisposable {
  /** Resolves when everything that was there at the start is known and being worked on. */
  synced(signal?: AbortSignal): Promise<void>;
}

type Worker = (
  deps: CarryOutDeps,
  name: { readonly namespace: string; readonly name: string },
  signal: AbortSignal,
) => Promise<WorkResult>;

/**
 * Stands in for Velero's server on any API server that serves its kinds: backups hold what is in a few kinds of object, in
 * memory, and restores make it again. Annotations steer how it ends (`steering.ts`).
 */
export function startVeleroController(deps: VeleroControllerDeps): VeleroController {
  const { api, clock, logger, timing, random = Math.random } = deps;
  const stop = new AbortController();
  const work: CarryOutDeps = { api, clock, timing, shelf: new BackupShelf(api), begun: new Set() };
  const informers: Informer<KubeObject>[] = [];
  const running: Promise<unknown>[] = [];
  const control = (kind: { readonly apiVersion: string; readonly kind: string }, worker: Worker): void => {
    const informer = createInformer<KubeObject>({ api, kind, clock, random, logger });
    const queue = new WorkQueue({ name: kind.kind, clock, random, logger, minBackoffMs: 50 });
    informer.onChange((_, after) => {
      if (after !== undefined) queue.add(keyOf(after));
    });
    informers.push(informer);
    running.push(
      informer.run(stop.signal),
      queue.run(async (key, signal) => {
        const [namespace = '', name = ''] = key.split('/');
        return await worker(work, { namespace, name }, signal);
      }, stop.signal),
    );
  };
  control(VELERO_STORAGE_LOCATION, validateLocation);
  control(VELERO_BACKUP, carryOutBackup);
  control(VELERO_RESTORE, carryOutRestore);
  return {
    async synced(signal) {
      await Promise.all(informers.map(async (informer) => informer.synced(signal)));
    },
    async [Symbol.asyncDispose]() {
      stop.abort();
      await Promise.all(running);
    },
  };
}
