import type { Reporter, StatusChange } from '../events/report/reporter.ts';
import type { ClusterApi } from '../kube/cluster-api.ts';
import { WorkQueue } from '../kube/work-queue.ts';
import { APPLICATION_INSTANCE_KIND, type ApplicationInstance } from '../resources/application-instance.ts';
import { intentIdOf } from '../resources/intent-ids.ts';
import type { KubeObject, ObjectRef } from '../resources/kube-object.ts';
import { APPS_API_VERSION, OPS_API_VERSION } from '../resources/labels.ts';
import { OPERATION_KIND, type Operation } from '../resources/operation.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Logger } from '../runtime/logger.ts';
import type { Secret } from '../runtime/secret.ts';
import { reconcileInstance } from './application-instance/application-instance-controller.ts';
import { Dependents } from './application-instance/dependencies.ts';
import type { ClusterEventRecorder } from './application-instance/instance-pass.ts';
import { ReleaseClaims } from './application-instance/release-claims.ts';
import { Adoption } from './adoption.ts';
import type { ClusterPolicy } from '../policy/cluster-policy.ts';
import { otherNamespacesOf, type Placed } from '../policy/other-namespaces.ts';
import { InventorySaver } from './inventory-saver.ts';
import type { Inventory } from './inventory.ts';
import { NamespaceWatches, type Grant } from './namespace-watches.ts';
import { KnownRuns } from './operation/known-runs.ts';
import { reconcileOperation } from './operation/operation-controller.ts';
import { asPlanned, standingOf } from './operation/operation-standing.ts';
import { TEMPLATE_RUNNERS } from './operation/runners.ts';
import type { TemplateRunner } from './operation/template-runner.ts';
import type { NamespaceGrants } from './pass.ts';
import { sourceOf } from './status-source.ts';
import type { ApprovalMemory } from './take-approval.ts';
import { ToldSources } from './told-sources.ts';
import { UnwrittenStatus } from './unwritten-status.ts';
import { Watched } from './watched.ts';
import { namespaceIsOpen } from './write-checks.ts';
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
  /** The cluster's private keys, the current one first; undefined until they are read. */
  readonly keyRing?: () => readonly Secret[] | undefined;
  /** Sealed values that do not open. */
  readonly onNotOpened?: (instance: ApplicationInstance, message: string) => void;
  /** Registers a callback: everything is looked at again when the policy changes. */
  readonly onPolicyChange?: (listener: () => void) => void;
  /** What keeps one of our own kinds from being watched; undefined once it is. */
  readonly onWatch?: (kind: string, fault: unknown) => void;
  /** The namespaces where the operator works, and how far it is in each. */
  readonly onGrants?: (grants: ReadonlyMap<string, Grant>) => void;
  /** An object of a kind that sources deliver changed or is gone. */
  readonly onDelivered?: (object: KubeObject, isGone: boolean) => void;
  readonly onNamespace?: (namespace: string) => void;
  /** Where it is written down that an approval is used; absent: nobody remembers. */
  readonly approvals?: ApprovalMemory;
  /** What operations can do here (default: every template that this version has). */
  readonly runners?: readonly TemplateRunner[];
  /** Whether the control plane has taken all that was said of an operation (default: it has). */
  readonly isReported?: (operation: Operation) => boolean;
}

export interface Reconciler extends AsyncDisposable, NamespaceGrants {
  /** Resolves once the objects of our own kinds are known and worked on. Flux' kinds may come later, or never. */
  synced(signal?: AbortSignal): Promise<void>;
  /** Current conditions of every ApplicationInstance and Operation (`before` empty): what a full snapshot sends. */
  snapshot(): readonly StatusChange[];
  /** The same of one object; undefined where it is not there or has no conditions yet. */
  statusOf(ref: ObjectRef): StatusChange | undefined;
}

/** Each has at most one request under way. */
const INSTANCES_AT_ONCE = 8;
/** A deadline is noticed so late at most, whatever the server answers in between. */
const OPERATION_BACKOFF_MS = 30_000;

/** Starts the ApplicationInstance and Operation controllers; dispose to stop them. */
export function startReconciler(deps: ReconcilerDeps): Reconciler {
  const stop = new AbortController();
  const { signal } = stop;
  const ownKind = <T extends KubeObject>(apiVersion: string, kind: string): Watched<T> =>
    new Watched<T>(deps, { apiVersion, kind }, { onHealth: (fault) => deps.onWatch?.(kind, fault) });
  const instances = ownKind<ApplicationInstance>(APPS_API_VERSION, APPLICATION_INSTANCE_KIND);
  const operations = ownKind<Operation>(OPS_API_VERSION, OPERATION_KIND);
  const namespaces = ownKind<KubeObject>('v1', 'Namespace');
  const instanceQueue = new WorkQueue({ ...deps, name: APPLICATION_INSTANCE_KIND, concurrency: INSTANCES_AT_ONCE });
  const operationQueue = new WorkQueue({ ...deps, name: OPERATION_KIND, maxBackoffMs: OPERATION_BACKOFF_MS });
  /** At everything, or at what is in the namespace or about it. */
  const lookAgain = (namespace?: string): void => {
    const isConcerned = (object: Placed): boolean =>
      namespace === undefined ||
      object.metadata.namespace === namespace ||
      otherNamespacesOf(object, deps.policy()).includes(namespace);
    for (const object of instances.list()) if (isConcerned(object)) instanceQueue.add(keyOf(object.metadata));
    for (const object of operations.list()) {
      if (isConcerned(asPlanned(object, standingOf(object)))) operationQueue.add(keyOf(object.metadata));
    }
  };
  const flux = new NamespaceWatches({
    ...deps,
    onChange: (namespace, name) => instanceQueue.add(keyOf({ namespace, name })),
    onGrant: (namespace, grant) => {
      // While its watches are on their way the server itself is asked, by whoever has something to do there.
      if (grant === 'granted' || grant === 'not_granted') lookAgain(namespace);
      deps.onGrants?.(flux.grants());
    },
  });
  const openNamespaces = (): void => {
    const policy = deps.policy();
    const open = namespaces.list().filter((object) => namespaceIsOpen(object.metadata.name, object, policy));
    flux.open(new Set(open.map(({ metadata }) => metadata.name)));
    deps.onGrants?.(flux.grants());
  };
  const claims = new ReleaseClaims();
  const dependents = new Dependents();
  const watches = { instances, flux, namespaces, claims };
  const unwritten = new UnwrittenStatus(deps.reporter);
  const ended = new Set<string>();
  const told = new ToldSources();
  const saver = new InventorySaver(deps);
  const adoption = new Adoption({ ...deps, saver });
  const knownRuns = new KnownRuns({ ...deps, saver });
  /** Before anything is made of it: what stands in its status says by which way it came. */
  const noteArrival = (object: OwnObject, isGone: boolean): void => {
    adoption.seen(object, isGone);
    if (isGone) told.forget(object);
    else told.seen(object);
    if (isGone) unwritten.forget(object);
  };

  instances.onChange((object, isGone) => {
    noteArrival(object, isGone);
    const freed = claims.note(object, isGone);
    dependents.note(object, isGone);
    for (const key of [keyOf(object.metadata), ...freed, ...dependents.of(object)]) instanceQueue.add(key);
    if (isGone) ended.delete(object.metadata.uid ?? '');
    deps.onDelivered?.(object, isGone);
  });
  operations.onChange((object, isGone) => {
    // First: what went while it ran is told, and not as if it had never begun.
    knownRuns.seen(object, isGone);
    noteArrival(object, isGone);
    operationQueue.add(keyOf(object.metadata));
    deps.onDelivered?.(object, isGone);
  });
  namespaces.onChange(({ metadata }) => {
    if (namespaces.isSynced) openNamespaces();
    lookAgain(metadata.name);
    deps.onNamespace?.(metadata.name);
  });
  deps.onPolicyChange?.(() => {
    openNamespaces();
    for (const object of [...instances.list(), ...operations.list()]) adoption.seen(object, false);
    lookAgain();
  });

  const workers = async (): Promise<void> => {
    await Promise.all([instances, operations, namespaces].map((watched) => watched.synced(signal)));
    openNamespaces();
    knownRuns.settleAll(operations.list());
    const withStatus = { ...deps, unwritten, ended, told, saver };
    const toRun = { ...withStatus, runners: deps.runners ?? TEMPLATE_RUNNERS };
    await Promise.all([
      instanceQueue.run((key) => reconcileInstance(withStatus, watches, namesOf(key), signal), signal),
      operationQueue.run((key) => reconcileOperation(toRun, { operations, namespaces }, namesOf(key), signal), signal),
    ]);
  };
  const running = Promise.allSettled([
    ...[instances, operations, namespaces, flux, saver].map(
      async (watched: { run(signal: AbortSignal): Promise<void> }) => {
        await watched.run(signal);
      },
    ),
    workers(),
  ]);

  return {
    async synced(until) {
      await Promise.all([instances, operations, namespaces].map((watched) => watched.synced(until)));
    },
    snapshot: () =>
      [...instances.list(), ...operations.list()]
        .filter((object) => (object.status?.conditions ?? []).length > 0)
        .map((object) => snapshotOf(object, deps, unwritten)),
    statusOf: ({ kind, namespace, name }) => {
      const object = kind === OPERATION_KIND ? operations.newest(namespace, name) : instances.newest(namespace, name);
      const has = (object?.status?.conditions ?? []).length > 0;
      return object === undefined || !has ? undefined : snapshotOf(object, deps, unwritten);
    },
    isDenied: (namespace) => flux.grantOf(namespace) === 'not_granted',
    doubt: (namespace) => flux.doubt(namespace),
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
function snapshotOf(
  object: OwnObject,
  { inventory, policy }: ReconcilerDeps,
  unwritten: UnwrittenStatus,
): StatusChange {
  const { status } = object;
  const told = unwritten.of(object);
  const isPresent = status?.source?.intentId === intentIdOf(object);
  const generation = status?.observedGeneration;
  return {
    ref: { ...resourceRefOf(object), ...(generation === undefined ? {} : { generation }) },
    before: [],
    after: told?.conditions ?? status?.conditions ?? [],
    source:
      told !== undefined ? told.source : isPresent ? sourceOf(object, inventory, policy()) : (status?.source ?? {}),
  };
}

function keyOf({ namespace, name }: { readonly namespace?: string; readonly name: string }): string {
  return `${namespace ?? ''}/${name}`;
}

function namesOf(key: string): { readonly namespace: string; readonly name: string } {
  const [namespace = '', name = ''] = key.split('/');
  return { namespace, name };
}
