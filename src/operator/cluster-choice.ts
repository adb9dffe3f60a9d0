import type { ClusterApi, Informer } from '../kube/cluster-api.ts';
import type { KubeEventRecorder } from '../kube/kube-event-recorder.ts';
import type { Term } from '../kube/lease/term.ts';
import { CLUSTER_KIND, type Cluster } from '../resources/cluster.ts';
import { findCondition, setCondition } from '../resources/conditions.ts';
import { OPS_API_VERSION, STATUS_FIELD_MANAGER } from '../resources/labels.ts';
import { Reason } from '../resources/reasons.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Logger } from '../runtime/logger.ts';
import { Wake } from '../runtime/wake.ts';
import { ClusterSession } from './cluster-session.ts';

export interface ClusterChoiceDeps {
  readonly api: ClusterApi;
  /** What it runs in. */
  readonly term: Term;
  readonly recorder: KubeEventRecorder;
  readonly clusters: Informer<Cluster>;
  readonly namespace: string;
  readonly stateDir: string;
  readonly clock: Clock;
  readonly random: () => number;
  readonly logger: Logger;
}

/**
 * Runs a session for the one `Cluster` resource of this operator: the oldest. Another is told that it is one too many. A
 * resource that is deleted or made anew ends its session.
 */
export class ClusterChoice {
  readonly #deps: ClusterChoiceDeps;
  readonly #wake = new Wake();
  #session: ClusterSession | undefined;
  #chosen: Cluster | undefined;

  constructor(deps: ClusterChoiceDeps) {
    this.#deps = deps;
    deps.clusters.onChange(() => this.#wake.ring());
  }

  get session(): ClusterSession | undefined {
    return this.#session;
  }

  /** Runs until aborted; rejects when a session fails. */
  async run(signal: AbortSignal): Promise<void> {
    let running: { readonly uid: string; readonly stop: AbortController; readonly ended: Promise<void> } | undefined;
    const failed = Promise.withResolvers<never>();
    failed.promise.catch(() => undefined);
    try {
      await this.#deps.clusters.synced(signal);
      for (;;) {
        const [chosen, ...others] = inOrder(this.#deps.clusters.list());
        const uid = chosen?.metadata.uid;
        if (running !== undefined && running.uid !== uid) {
          running.stop.abort();
          await running.ended;
          running = undefined;
          this.#session = undefined;
        }
        this.#chosen = chosen ?? this.#chosen;
        if (chosen === undefined) {
          this.#deps.logger.info({ namespace: this.#deps.namespace }, 'waiting for a Cluster resource');
        } else if (uid !== undefined && running === undefined) {
          running = this.#start(uid, signal, failed.reject);
        } else {
          this.#session?.clusterChanged();
        }
        for (const other of others) await this.#refuse(other, chosen, signal);
        await Promise.race([this.#wake.wait(signal), failed.promise]);
      }
    } catch (error) {
      if (!signal.aborted) throw error;
    } finally {
      running?.stop.abort();
      await running?.ended;
    }
  }

  #start(
    uid: string,
    signal: AbortSignal,
    fail: (error: unknown) => void,
  ): { readonly uid: string; readonly stop: AbortController; readonly ended: Promise<void> } {
    const stop = new AbortController();
    const session = new ClusterSession({ ...this.#deps, cluster: () => this.#current(uid) });
    this.#session = session;
    const ended = session.run(AbortSignal.any([signal, stop.signal])).catch(fail);
    return { uid, stop, ended };
  }

  /** Its last known state for a session that is ending, after the resource is gone. */
  #current(uid: string): Cluster {
    const live = this.#deps.clusters.list().find(({ metadata }) => metadata.uid === uid);
    if (live !== undefined) this.#chosen = live;
    if (this.#chosen === undefined) throw new Error('there is no Cluster resource');
    return this.#chosen;
  }

  async #refuse(other: Cluster, chosen: Cluster | undefined, signal: AbortSignal): Promise<void> {
    const before = other.status?.conditions ?? [];
    const condition = {
      type: 'Stalled',
      status: 'True' as const,
      reason: Reason.DuplicateCluster,
      message: `this operator serves the older Cluster ${chosen?.metadata.name ?? ''}; delete one of the two`,
    };
    if (findCondition(before, 'Stalled')?.message === condition.message) return;
    const conditions = setCondition([], condition, this.#deps.clock.now());
    const { name, namespace = this.#deps.namespace } = other.metadata;
    try {
      await this.#deps.api.apply(
        { apiVersion: OPS_API_VERSION, kind: CLUSTER_KIND, metadata: { name, namespace }, status: { conditions } },
        { fieldManager: STATUS_FIELD_MANAGER, force: true, subresource: 'status' },
        signal,
      );
    } catch (error) {
      signal.throwIfAborted();
      this.#deps.logger.warn(
        { err: error, name },
        'a second Cluster resource could not be told that it is one too many',
      );
    }
  }
}

/** Oldest first; by name where two are equally old. */
export function inOrder(clusters: readonly Cluster[]): readonly Cluster[] {
  const age = ({ metadata }: Cluster): string => `${metadata.creationTimestamp ?? ''} ${metadata.name}`;
  return [...clusters].sort((a, b) => (age(a) < age(b) ? -1 : 1));
}
