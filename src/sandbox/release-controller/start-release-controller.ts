import type { ClusterApi, Informer } from '../../kube/cluster-api.ts';
import { createInformer } from '../../kube/informer.ts';
import { createKubeEventRecorder } from '../../kube/kube-event-recorder.ts';
import { WorkQueue, type Worker } from '../../kube/work-queue.ts';
import { isTrue } from '../../resources/conditions.ts';
import { HELM_RELEASE, type HelmRelease } from '../../resources/flux-helm-release.ts';
import { HELM_REPOSITORY, type HelmRepository } from '../../resources/flux-helm-repository.ts';
import { OCI_REPOSITORY, type OciRepository } from '../../resources/flux-oci-repository.ts';
import type { KubeObject } from '../../resources/kube-object.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Logger } from '../../runtime/logger.ts';
import type { ChartShelf } from './chart-shelf.ts';
import { HELM_FIELD_MANAGER } from './deployed-object.ts';
import type { ActionTiming } from './helm-actions.ts';
import { reconcileRelease, type ReleaseDeps } from './reconcile-release.ts';
import { ReleaseStorage } from './release-storage.ts';
import { reconcileSource, SOURCE_FIELD_MANAGER } from './reconcile-source.ts';

export interface ReleaseControllerDeps {
  readonly api: ClusterApi;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly charts: ChartShelf;
  /** Milliseconds that fetching, and Helm's actions, take; all 0 is as fast as the API server answers. */
  readonly timing: ActionTiming & { readonly fetchMs: number };
  /** In [0, 1); default `Math.random`. */
  readonly random?: () => number;
}

export interface ReleaseController extends AsyncDisposable {
  /** Resolves when everything that was there at the start is known and being worked on. */
  synced(signal?: AbortSignal): Promise<void>;
  /** Compares every release with what it deployed, now rather than at its interval; resolves when all are done. */
  detectDrift(): Promise<void>;
}

/** Stands in for Flux's source- and helm-controller, on any API server that serves their kinds. */
export function startReleaseController(deps: ReleaseControllerDeps): ReleaseController {
  const stop = new AbortController();
  const random = deps.random ?? Math.random;
  const informer = <T extends KubeObject>(kind: { readonly apiVersion: string; readonly kind: string }): Informer<T> =>
    createInformer<T>({ api: deps.api, kind, clock: deps.clock, random, logger: deps.logger });
  const artifacts = informer<OciRepository>(OCI_REPOSITORY);
  const repositories = informer<HelmRepository>(HELM_REPOSITORY);
  const releases = informer<HelmRelease>(HELM_RELEASE);
  const recorder = (component: string): ReturnType<typeof createKubeEventRecorder> =>
    createKubeEventRecorder({ api: deps.api, component, clock: deps.clock, logger: deps.logger });
  const sourceEvents = recorder(SOURCE_FIELD_MANAGER);
  const releaseEvents = recorder(HELM_FIELD_MANAGER);
  const queue = (name: string): WorkQueue =>
    new WorkQueue({ name, clock: deps.clock, random, logger: deps.logger, concurrency: 8, minBackoffMs: 50 });
  const artifactQueue = queue('ocirepositories');
  const repositoryQueue = queue('helmrepositories');
  const releaseQueue = queue('helmreleases');
  const driftChecks = new Map<string, () => void>();

  artifacts.onChange((before, after) => {
    if (after === undefined) return;
    if (asksForWork(before, after)) artifactQueue.add(keyOf(after));
    if (hasNewArtifact(before, after)) enqueueUsersOf('OCIRepository', after);
  });
  repositories.onChange((before, after) => {
    if (after === undefined) return;
    if (asksForWork(before, after)) repositoryQueue.add(keyOf(after));
    if (hasNewArtifact(before, after)) enqueueUsersOf('HelmRepository', after);
  });
  releases.onChange((before, after) => {
    if (after === undefined) return;
    if (asksForWork(before, after)) releaseQueue.add(keyOf(after));
    if (!isReady(before) && isReady(after)) {
      for (const other of releases.list()) if (dependsOn(other, after)) releaseQueue.add(keyOf(other));
    }
  });
  deps.charts.onPublish(() => {
    for (const source of artifacts.list()) artifactQueue.add(keyOf(source));
    for (const source of repositories.list()) repositoryQueue.add(keyOf(source));
    for (const release of releases.list()) if (release.spec.chart !== undefined) releaseQueue.add(keyOf(release));
  });

  function enqueueUsersOf(kind: 'OCIRepository' | 'HelmRepository', source: KubeObject): void {
    for (const release of releases.list()) {
      const ref = release.spec.chartRef ?? release.spec.chart?.spec.sourceRef;
      const namespace = ref?.namespace ?? release.metadata.namespace;
      if (ref?.kind !== kind || ref.name !== source.metadata.name) continue;
      if (namespace === source.metadata.namespace) releaseQueue.add(keyOf(release));
    }
  }

  const { api, clock, charts, timing } = deps;
  const sourceWorker =
    (kind: typeof OCI_REPOSITORY | typeof HELM_REPOSITORY): Worker =>
    async (key, signal) =>
      reconcileSource({ api, clock, charts, events: sourceEvents, fetchMs: timing.fetchMs }, kind, nameOf(key), signal);
  const releaseDeps: ReleaseDeps = {
    api,
    clock,
    charts,
    random,
    timing,
    storage: new ReleaseStorage(),
    events: releaseEvents,
  };
  const releaseWorker: Worker = async (key, signal) => {
    const checked = driftChecks.get(key);
    driftChecks.delete(key);
    try {
      return await reconcileRelease(releaseDeps, nameOf(key), signal);
    } finally {
      checked?.();
    }
  };
  const running = Promise.all([
    ...[artifacts, repositories, releases].map(async (informer) => informer.run(stop.signal)),
    artifactQueue.run(sourceWorker(OCI_REPOSITORY), stop.signal),
    repositoryQueue.run(sourceWorker(HELM_REPOSITORY), stop.signal),
    releaseQueue.run(releaseWorker, stop.signal),
  ]);

  return {
    async synced(signal) {
      await Promise.all([artifacts, repositories, releases].map(async (informer) => informer.synced(signal)));
    },
    async detectDrift() {
      const checks = releases.list().map(async (release) => {
        const done = Promise.withResolvers<void>();
        const key = keyOf(release);
        const earlier = driftChecks.get(key);
        driftChecks.set(key, () => {
          earlier?.();
          done.resolve();
        });
        releaseQueue.add(key);
        await done.promise;
      });
      await Promise.all(checks);
      await releaseEvents.flush();
    },
    async [Symbol.asyncDispose]() {
      stop.abort();
      await running;
      for (const done of driftChecks.values()) done();
      await Promise.all([sourceEvents[Symbol.asyncDispose](), releaseEvents[Symbol.asyncDispose]()]);
    },
  };
}

/** Own status writes are no reason to look again. */
function asksForWork(before: KubeObject | undefined, after: KubeObject): boolean {
  return (
    before === undefined ||
    before.metadata.generation !== after.metadata.generation ||
    before.metadata.deletionTimestamp !== after.metadata.deletionTimestamp ||
    JSON.stringify(before.metadata.annotations) !== JSON.stringify(after.metadata.annotations)
  );
}

/** helm-controller looks at a source's new revision, and at one that has become ready. */
function hasNewArtifact(
  before: OciRepository | HelmRepository | undefined,
  after: OciRepository | HelmRepository,
): boolean {
  const revision = after.status?.artifact?.revision;
  if (revision === undefined) return false;
  return before?.status?.artifact?.revision !== revision || (!isReady(before) && isReady(after));
}

function isReady(object: OciRepository | HelmRepository | HelmRelease | undefined): boolean {
  if (object?.status?.observedGeneration !== object?.metadata.generation) return false;
  return isTrue(object?.status?.conditions, 'Ready');
}

function dependsOn(release: HelmRelease, other: HelmRelease): boolean {
  return (release.spec.dependsOn ?? []).some(
    ({ name, namespace = release.metadata.namespace }) =>
      name === other.metadata.name && namespace === other.metadata.namespace,
  );
}

function keyOf({ metadata }: KubeObject): string {
  return `${metadata.namespace ?? ''}/${metadata.name}`;
}

function nameOf(key: string): { readonly namespace: string; readonly name: string } {
  const [namespace = '', name = ''] = key.split('/');
  return { namespace, name };
}
