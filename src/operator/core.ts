import type { CopyCondition } from '../delivery/gitops/read/copy-report.ts';
import { GitSource } from '../delivery/gitops/read/git-source.ts';
import type { GitTarget } from '../delivery/gitops/read/git-target.ts';
import { ACCEPT_REMOVALS_ANNOTATION } from '../delivery/gitops/read/removal-breaker.ts';
import type { DesiredSet, Source } from '../delivery/delivery.ts';
import type { JobSubject } from '../delivery/pull/read-job.ts';
import type { Reporter, StatusChange } from '../events/report/reporter.ts';
import type { ClusterApi } from '../kube/cluster-api.ts';
import type { KubeEventRecorder } from '../kube/kube-event-recorder.ts';
import { endsToRepeat } from '../reconcile/ends-to-repeat.ts';
import { createApplyLoop, type ApplyLoop } from '../reconcile/apply-loop.ts';
import type { ApplyReport } from '../reconcile/apply-report.ts';
import type { ClusterPolicy } from '../policy/cluster-policy.ts';
import { ConsumedApprovals } from '../reconcile/consumed-approvals.ts';
import { DeliveryFence } from '../reconcile/delivery-fence.ts';
import type { DeletedRecord } from '../reconcile/inventory-record.ts';
import { Inventory } from '../reconcile/inventory.ts';
import type { Grant } from '../reconcile/namespace-watches.ts';
import type { NamespaceGrants } from '../reconcile/pass.ts';
import { startReconciler, type Reconciler } from '../reconcile/reconciler.ts';
import { serialApply } from '../reconcile/serial-apply.ts';
import type { ApplicationInstance } from '../resources/application-instance.ts';
import type { Cluster } from '../resources/cluster.ts';
import type { KubeObject, ObjectRef } from '../resources/kube-object.ts';
import { backoffMs } from '../runtime/backoff.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Logger } from '../runtime/logger.ts';
import type { Secret } from '../runtime/secret.ts';
import { runJobLoop } from './jobs/job-loop.ts';
import { SyncLoop } from './sync-loop.ts';

export interface CoreDeps {
  readonly api: ClusterApi;
  readonly namespace: string;
  readonly stateDir: string;
  readonly cluster: () => Cluster;
  readonly policy: () => ClusterPolicy;
  readonly keyRing: () => readonly Secret[] | undefined;
  readonly onNotOpened: (instance: ApplicationInstance, message: string) => void;
  readonly reporter: Reporter;
  /** Jobs of pull mode. */
  readonly jobs: Source;
  readonly recorder: KubeEventRecorder;
  readonly clock: Clock;
  readonly random: () => number;
  readonly logger: Logger;
  readonly onRead: (set: DesiredSet) => void;
  readonly onReport: (report: ApplyReport, set: DesiredSet) => void;
  readonly onRewritten: (message: string) => void;
  readonly onCopy: (condition: CopyCondition) => void;
  /** Every controller has its first lists and runs. */
  readonly onRunning: () => void;
  /** `what` does not work for this fault; undefined: it works (again). */
  readonly onFault: (what: string, fault: unknown) => void;
  readonly onGrants: (grants: ReadonlyMap<string, Grant>) => void;
  /** Where the operator may work changed: a namespace, its label or its grant. */
  readonly onPlaces: () => void;
  /** An object of a kind that is delivered left the cluster. */
  readonly onGone: (object: KubeObject) => void;
  /** Whether the control plane has taken all that was said of the object since `onRunning`. */
  readonly isReported: (object: KubeObject) => boolean;
}

const RETRY = { minMs: 500, maxMs: 30_000 };
const MEMORY_FAULT = 'the inventory and the used approvals cannot be read, and nothing is applied before';
const MANIFEST_KEY = /^(?:apps|operations)\//;

/**
 * What goes on without the control plane: the source and its apply loop, and the controllers. It starts as soon as there is
 * a projection to go by, the one of before a restart included.
 */
export class Core {
  readonly #deps: CoreDeps;
  readonly #inventory: Inventory;
  readonly #approvals: ConsumedApprovals;
  readonly #source: GitSource;
  readonly #sync: SyncLoop;
  readonly #applyLoop: ApplyLoop;
  readonly #fence = new DeliveryFence();
  readonly #policyListeners: (() => void)[] = [];
  #reconciler: Reconciler | undefined;
  #lastWishes: string | undefined;
  /** When the control plane last answered an earlier process. */
  readonly #lastAnswer: string | undefined;
  #signal: AbortSignal | undefined;

  constructor(deps: CoreDeps) {
    this.#deps = deps;
    this.#lastAnswer = deps.cluster().status?.lastContactTime;
    const { api, clock, logger, random, policy, namespace, reporter } = deps;
    const clusterId = (): string => policy().clusterId;
    this.#inventory = new Inventory({ api, logger, namespace, clusterId, clock });
    this.#approvals = new ConsumedApprovals({ api, clock, namespace, clusterId });
    this.#source = new GitSource({
      stateDir: deps.stateDir,
      clock,
      random,
      logger,
      applied: () =>
        this.#inventory
          .records()
          // A file that brought an object in an earlier stay in this mode is not what brings it now.
          .filter(({ sourceKey, epoch }) => MANIFEST_KEY.test(sourceKey) && epoch >= policy().deliveryEpoch)
          .map(({ sourceKey, uid }) => ({ key: sourceKey, uid })),
      memory: {
        read: () => this.#inventory.source,
        write: (text) => {
          this.#inventory.source = text;
        },
      },
      prunedSince: (time) => this.#inventory.prunedSince(time),
      acceptedRevision: () => this.#accepted(),
      requiresSignedCommits: () => this.#requiresSignedCommits(),
      onRewritten: deps.onRewritten,
      onCopy: deps.onCopy,
      allowFile: false,
    });
    const grants: NamespaceGrants = {
      isDenied: (name) => this.#reconciler?.isDenied(name) === true,
      doubt: (name) => this.#reconciler?.doubt(name),
    };
    const applyLoop = serialApply(
      createApplyLoop({ api, inventory: this.#inventory, clock, logger, policy, reporter, grants }),
      this.#fence,
    );
    this.#applyLoop = applyLoop;
    const { onRead, onReport } = deps;
    const isWanted = (): boolean => policy().mode === 'gitops';
    this.#sync = new SyncLoop({ source: this.#source, applyLoop, clock, random, logger, isWanted, onRead, onReport });
  }

  /** Another mode or delivery epoch: `change` is made once no pass of before can write any more. */
  async changeWay(change: () => void): Promise<void> {
    await this.#fence.raise(() => {
      // What a stop has cut may still be on its way; the next process begins with nothing in flight.
      if (this.#signal?.aborted === true) return;
      change();
      this.#sync.wayChanged();
    });
  }

  /** Where to read now; undefined outside gitops mode. */
  read(target: GitTarget | undefined): void {
    this.#source.update(target);
    if (target === undefined) this.#sync.forget();
  }

  policyChanged(): void {
    this.#sync.lookAgain();
    for (const listener of this.#policyListeners) listener();
  }

  /** The `Cluster` resource changed. */
  clusterChanged(): void {
    const wishes = JSON.stringify([this.#accepted(), this.#requiresSignedCommits()]);
    if (wishes === this.#lastWishes) return;
    this.#lastWishes = wishes;
    this.#source.lookAgain();
  }

  snapshot(): readonly StatusChange[] {
    return this.#reconciler?.snapshot() ?? [];
  }

  /** Conditions of one object as they are now; undefined where it is not there, or has none yet. */
  statusOf(ref: ObjectRef): StatusChange | undefined {
    return this.#reconciler?.statusOf(ref);
  }

  /** What is remembered of an object that went. */
  deleted(ref: ObjectRef): DeletedRecord | undefined {
    return this.#inventory.deleted(ref);
  }

  /** By what an approval was used, so that the object of this UID cannot use it. */
  approvalUsedBy(jti: string, uid: string | undefined): string | undefined {
    return this.#approvals.usedBy(jti, uid);
  }

  /** What names, in its source, the delivery that brought the object's present pair. */
  broughtBy({ ref, pair }: JobSubject): string | undefined {
    const record = this.#inventory.find(ref);
    return record?.epoch === pair.epoch && record.generation === pair.generation ? record.sourceKey : undefined;
  }

  /** Runs until aborted. */
  async run(signal: AbortSignal): Promise<void> {
    this.#signal = signal;
    await this.#loadMemory(signal);
    const { api, reporter, recorder, clock, random, logger, policy, keyRing, onNotOpened } = this.#deps;
    let isRunning = false;
    const reconciler = startReconciler({
      api,
      inventory: this.#inventory,
      approvals: this.#approvals,
      reporter,
      recorder,
      clock,
      random,
      logger,
      policy,
      keyRing,
      onNotOpened,
      onPolicyChange: (listener) => this.#policyListeners.push(listener),
      onWatch: (kind, fault) => this.#deps.onFault(`${kind} cannot be watched`, fault),
      onGrants: (grants) => {
        this.#deps.onGrants(grants);
        this.#lookAgain();
      },
      onDelivered: (object, isGone) => {
        this.#sync.noteChange(object, isGone);
        if (isGone) this.#deps.onGone(object);
      },
      isReported: (operation) => isRunning && this.#deps.isReported(operation),
      onNamespace: (name) => {
        if (policy().allowedNamespaces.includes(name)) this.#lookAgain();
      },
    });
    this.#reconciler = reconciler;
    try {
      reconciler.synced(signal).then(
        () => {
          const ends = endsToRepeat(this.#inventory.allDeleted(), this.#lastAnswer, policy().mode);
          for (const end of ends) reporter.statusChanged(end);
          this.#deps.onRunning();
          isRunning = true;
        },
        () => undefined,
      );
      const source = this.#deps.jobs;
      const jobs = runJobLoop({ source, applyLoop: this.#applyLoop, clock, random, logger }, signal);
      await Promise.all([this.#sync.run(signal), jobs]);
    } finally {
      await reconciler[Symbol.asyncDispose]();
      await this.#source[Symbol.asyncDispose]();
    }
  }

  #lookAgain(): void {
    this.#sync.lookAgain();
    this.#deps.onPlaces();
  }

  #requiresSignedCommits(): boolean {
    return this.#deps.cluster().spec.security?.requireSignedCommits === true;
  }

  #accepted(): string | undefined {
    return this.#deps.cluster().metadata.annotations?.[ACCEPT_REMOVALS_ANNOTATION];
  }

  async #loadMemory(signal: AbortSignal): Promise<void> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        await this.#inventory.load(signal);
        await this.#approvals.load(signal);
        this.#deps.onFault(MEMORY_FAULT, undefined);
        return;
      } catch (error) {
        signal.throwIfAborted();
        this.#deps.onFault(MEMORY_FAULT, error);
        this.#deps.logger.warn(
          { err: error, attempt },
          'the inventory and the used approvals cannot be read yet; nothing is applied before',
        );
        await this.#deps.clock.sleep(backoffMs(RETRY, attempt, this.#deps.random), signal);
      }
    }
  }
}
