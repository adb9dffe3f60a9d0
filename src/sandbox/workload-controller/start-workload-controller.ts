import type { ClusterApi, Informer } from '../../kube/cluster-api.ts';
import { createInformer } from '../../kube/informer.ts';
import { isNotFound } from '../../kube/read-failure.ts';
import { WorkQueue, type WorkResult } from '../../kube/work-queue.ts';
import { refOf, type KubeObject } from '../../resources/kube-object.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Logger } from '../../runtime/logger.ts';
import { reconcileJob, WORKLOAD_FIELD_MANAGER } from './reconcile-job.ts';
import { workloadStatus } from './workload-status.ts';

export interface WorkloadControllerDeps {
  readonly api: ClusterApi;
  readonly clock: Clock;
  readonly logger: Logger;
  /** In [0, 1); default `Math.random`. */
  readonly random?: () => number;
}

export interface WorkloadController extends AsyncDisposable {
  /** Resolves when everything that was there at the start is known and being worked on. */
  synced(signal?: AbortSignal): Promise<void>;
}

const KINDS = [
  { apiVersion: 'apps/v1', kind: 'Deployment' },
  { apiVersion: 'apps/v1', kind: 'StatefulSet' },
  { apiVersion: 'apps/v1', kind: 'DaemonSet' },
  { apiVersion: 'batch/v1', kind: 'Job' },
] as const;

/**
 * Stands in for the controllers of Deployments, StatefulSets, DaemonSets and Jobs on an API server that has none: it writes
 * the status that they write, and starts nothing. Annotations (steering.ts) have a workload or a Job hang or fail.
 */
export function startWorkloadController(deps: WorkloadControllerDeps): WorkloadController {
  const { api, clock, logger, random = Math.random } = deps;
  const stop = new AbortController();
  const informers = new Map<string, Informer<KubeObject>>(
    KINDS.map((kind) => [kind.kind, createInformer({ api, kind, clock, random, logger })]),
  );
  const queue = new WorkQueue({ name: 'workloads', clock, random, logger, concurrency: 8, minBackoffMs: 50 });
  for (const [kind, informer] of informers) {
    informer.onChange((before, after) => {
      if (after !== undefined && asksForWork(before, after)) queue.add(keyOf(kind, after));
    });
  }

  const work = async (key: string, signal: AbortSignal): Promise<WorkResult | void> => {
    const [kind = '', namespace = '', name = ''] = key.split('/');
    const seen = informers.get(kind)?.get(namespace, name);
    const live = seen === undefined ? undefined : await api.get<KubeObject>(refOf(seen), signal);
    if (live === undefined) return;
    try {
      if (kind === 'Job') {
        const requeueAfterMs = await reconcileJob({ api, clock }, live, signal);
        return requeueAfterMs === undefined ? undefined : { requeueAfterMs };
      }
      const status = workloadStatus(live, clock.now());
      const options = { fieldManager: WORKLOAD_FIELD_MANAGER, subresource: 'status' } as const;
      await api.mergePatch(refOf(live), { status }, options, signal);
    } catch (error) {
      // It went while it was worked on.
      if (!isNotFound(error)) throw error;
    }
  };
  const running = Promise.all([
    ...[...informers.values()].map(async (informer) => informer.run(stop.signal)),
    queue.run(work, stop.signal),
  ]);

  return {
    async synced(signal) {
      await Promise.all([...informers.values()].map(async (informer) => informer.synced(signal)));
    },
    async [Symbol.asyncDispose]() {
      stop.abort();
      await running;
    },
  };
}

/** Own status writes are no reason to look again. */
function asksForWork(before: KubeObject | undefined, after: KubeObject): boolean {
  return (
    before === undefined ||
    before.metadata.generation !== after.metadata.generation ||
    JSON.stringify(before.metadata.annotations) !== JSON.stringify(after.metadata.annotations)
  );
}

function keyOf(kind: string, { metadata }: KubeObject): string {
  return `${kind}/${metadata.namespace ?? ''}/${metadata.name}`;
}
