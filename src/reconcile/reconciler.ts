import type { Reporter, StatusChange } from '../events/report/reporter.ts';
import type { ClusterApi } from '../kube/cluster-api.ts';
import { WorkQueue, type WorkResult } from '../kube/work-queue.ts';
import { APPLICATION_INSTANCE_KIND, type ApplicationInstance } from '../resources/application-instance.ts';
import { HELM_RELEASE, type HelmRelease } from '../resources/flux-helm-release.ts';
import { HELM_REPOSITORY, type HelmRepository } from '../resources/flux-helm-repository.ts';
import { OCI_REPOSITORY, type OciRepository } from '../resources/flux-oci-repository.ts';
import type { KubeObject } from '../resources/kube-object.ts';
import {
  APPLICATION_INSTANCE_LABEL,
  APPS_API_VERSION,
  INTENT_ID_ANNOTATION,
  OPS_API_VERSION,
} from '../resources/labels.ts';
import { OPERATION_KIND, type Operation } from '../resources/operation.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Logger } from '../runtime/logger.ts';
import { reconcileInstance } from './application-instance/application-instance-controller.ts';
import type { ClusterEventRecorder } from './application-instance/instance-pass.ts';
import type { ClusterPolicy } from './cluster-policy.ts';
import type { Inventory } from './inventory.ts';
import { reconcileOperation } from './operation/operation-controller.ts';
import { sourceOf } from './status-source.ts';
import { Watched } from './watched.ts';
import { resourceRefOf, type OwnObject } from './write-status.ts';

export interface ReconcilerDeps {
  readonly api: ClusterApi;
  /** Knows the revision that brought each object: status and events name it. */
  readonly inventory: Inventory;
  readonly reporter: Reporter;
  readonly recorder?: ClusterEventRecorder;
  readonly clock: Clock;
  readonly random: () => number;
  readonly logger: Logger;
  readonly policy: () => ClusterPolicy;
  /** Registers a callback: everything is looked at again when the policy changes. */
  readonly onPolicyChange?: (listener: () => void) => void;
}

export interface Reconciler extends AsyncDisposable {
  /** Resolves once the objects of our own kinds are known and worked on. Flux' kinds may come later, or never. */
  synced(signal?: AbortSignal): Promise<void>;
  /** Current conditions of every ApplicationInstance and Operation (`before` empty): what a full snapshot sends. */
  snapshot(): readonly StatusChange[];
}

/** Starts the ApplicationInstance and Operation controllers; dispose to stop them. */
export function startReconciler(deps: ReconcilerDeps): Reconciler {
  const stop = new AbortController();
  const { signal } = stop;
  const instances = new Watched<ApplicationInstance>(deps, {
    apiVersion: APPS_API_VERSION,
    kind: APPLICATION_INSTANCE_KIND,
  });
  const operations = new Watched<Operation>(deps, { apiVersion: OPS_API_VERSION, kind: OPERATION_KIND });
  const namespaces = new Watched<KubeObject>(deps, { apiVersion: 'v1', kind: 'Namespace' });
  // Flux' objects of others are many and none of our business.
  const releases = new Watched<HelmRelease>(deps, HELM_RELEASE, APPLICATION_INSTANCE_LABEL);
  const ociRepositories = new Watched<OciRepository>(deps, OCI_REPOSITORY, APPLICATION_INSTANCE_LABEL);
  const helmRepositories = new Watched<HelmRepository>(deps, HELM_REPOSITORY, APPLICATION_INSTANCE_LABEL);
  const watches = { instances, releases, ociRepositories, helmRepositories, namespaces };

  const instanceQueue = new WorkQueue({ ...deps, name: APPLICATION_INSTANCE_KIND });
  const operationQueue = new WorkQueue({ ...deps, name: OPERATION_KIND });
  const lookAgain = (namespace?: string): void => {
    for (const { metadata } of instances.list()) {
      if (namespace === undefined || metadata.namespace === namespace) instanceQueue.add(keyOf(metadata));
    }
    for (const { metadata } of operations.list()) {
      if (namespace === undefined || metadata.namespace === namespace) operationQueue.add(keyOf(metadata));
    }
  };
  instances.onChange(({ metadata }) => instanceQueue.add(keyOf(metadata)));
  operations.onChange(({ metadata }) => operationQueue.add(keyOf(metadata)));
  namespaces.onChange(({ metadata }) => lookAgain(metadata.name));
  for (const flux of [releases, ociRepositories, helmRepositories]) {
    flux.onChange((object) => {
      const name = object.metadata.labels?.[APPLICATION_INSTANCE_LABEL];
      if (name !== undefined) instanceQueue.add(keyOf({ ...object.metadata, name }));
    });
    flux.synced(signal).then(
      () => lookAgain(),
      () => undefined,
    );
  }
  deps.onPolicyChange?.(() => lookAgain());

  const workers = async (): Promise<void> => {
    await Promise.all([instances, operations, namespaces].map((watched) => watched.synced(signal)));
    await Promise.all([
      instanceQueue.run((key) => reconcileInstance(deps, watches, namesOf(key), signal), signal),
      operationQueue.run(async (key): Promise<WorkResult> => {
        await reconcileOperation(deps, operations, namesOf(key), signal);
        return {};
      }, signal),
    ]);
  };
  const running = Promise.allSettled([
    ...[...Object.values(watches), operations].map(async (watched: { run(signal: AbortSignal): Promise<void> }) => {
      await watched.run(signal);
    }),
    workers(),
  ]);

  return {
    async synced(until) {
      await Promise.all([instances, operations, namespaces].map((watched) => watched.synced(until)));
    },
    snapshot: () =>
      [...instances.list(), ...operations.list()]
        .filter((object) => (object.status?.conditions ?? []).length > 0)
        .map((object) => snapshotOf(object, deps)),
    async [Symbol.asyncDispose]() {
      stop.abort();
      await running;
    },
  };
}

/**
 * The status as it stands, with what it is about: that may be an earlier spec and intent than the object now has, and a
 * Ready of the one must not be taken for the other's.
 */
function snapshotOf(object: OwnObject, { inventory, policy }: ReconcilerDeps): StatusChange {
  const { status } = object;
  const isPresent = status?.source?.intentId === object.metadata.annotations?.[INTENT_ID_ANNOTATION];
  const generation = status?.observedGeneration;
  return {
    ref: { ...resourceRefOf(object), ...(generation === undefined ? {} : { generation }) },
    before: [],
    after: status?.conditions ?? [],
    source: isPresent ? sourceOf(object, inventory, policy()) : (status?.source ?? {}),
  };
}

function keyOf({ namespace, name }: { readonly namespace?: string; readonly name: string }): string {
  return `${namespace ?? ''}/${name}`;
}

function namesOf(key: string): { readonly namespace: string; readonly name: string } {
  const [namespace = '', name = ''] = key.split('/');
  return { namespace, name };
}
