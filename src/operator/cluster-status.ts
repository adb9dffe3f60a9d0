import type { Reporter } from '../events/report/reporter.ts';
import type { ClusterApi } from '../kube/cluster-api.ts';
import { KubeError } from '../kube/cluster-api.ts';
import type { Condition, ResourceRef } from '../protocol/condition.ts';
import type { EventSource } from '../protocol/event.ts';
import { CLUSTER_KIND, type Cluster, type ClusterStatus } from '../resources/cluster.ts';
import { setCondition, type NewCondition } from '../resources/conditions.ts';
import { OPS_API_VERSION, STATUS_FIELD_MANAGER } from '../resources/labels.ts';
import { backoffMs } from '../runtime/backoff.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Logger } from '../runtime/logger.ts';
import { Wake } from '../runtime/wake.ts';

export interface ClusterStatusDeps {
  readonly api: ClusterApi;
  readonly cluster: () => Cluster;
  readonly reporter: Reporter;
  readonly lastContact: () => Date | undefined;
  /** What keeps the status from being written; undefined once it was. */
  readonly onFault?: (fault: unknown) => void;
  readonly clock: Clock;
  readonly random: () => number;
  readonly logger: Logger;
}

const RETRY = { minMs: 500, maxMs: 30_000 };
/** Of a cluster that was never switched. */
const FIRST_EPOCH = 1;

/**
 * The only writer of the `Cluster` resource's status. Changes count in memory at once and are written together; a change
 * that changes nothing writes nothing. What was written is reported.
 */
export class ClusterStatusWriter {
  readonly #deps: ClusterStatusDeps;
  readonly #wake = new Wake();
  #status: ClusterStatus;
  /** As it stands in the cluster, as far as known. */
  #written: ClusterStatus;
  #writtenSource: EventSource | undefined;

  constructor(deps: ClusterStatusDeps) {
    this.#deps = deps;
    this.#status = deps.cluster().status ?? {};
    this.#written = this.#status;
  }

  get status(): ClusterStatus {
    return this.#status;
  }

  get conditions(): readonly Condition[] {
    return this.#status.conditions ?? [];
  }

  /** What the Cluster's events say about where its state came from. */
  get source(): EventSource {
    const { connectivityMode, deliveryEpoch, appliedRevision } = this.#status;
    return {
      ...(connectivityMode === undefined ? {} : { mode: connectivityMode }),
      ...(deliveryEpoch === undefined ? {} : { epoch: deliveryEpoch }),
      ...(appliedRevision === undefined ? {} : { revision: appliedRevision }),
    };
  }

  get ref(): ResourceRef {
    const { name, namespace, uid, generation } = this.#deps.cluster().metadata;
    return {
      apiVersion: OPS_API_VERSION,
      kind: CLUSTER_KIND,
      name,
      ...(namespace === undefined ? {} : { namespace }),
      ...(uid === undefined ? {} : { uid }),
      ...(generation === undefined ? {} : { generation }),
    };
  }

  change(part: Partial<ClusterStatus>): void {
    this.#become({ ...this.#status, ...part });
  }

  /** These are not so any more. */
  forget(...members: readonly ('appliedRevision' | 'attemptedRevision')[]): void {
    const kept = Object.entries(this.#status).filter(([name]) => !members.some((member) => member === name));
    this.#become(Object.fromEntries(kept));
  }

  setConditions(next: readonly NewCondition[]): void {
    const observedGeneration = this.#deps.cluster().metadata.generation;
    const observed = observedGeneration === undefined ? {} : { observedGeneration };
    let conditions = this.conditions;
    for (const condition of next) {
      conditions = setCondition(conditions, { ...condition, ...observed }, this.#deps.clock.now());
    }
    if (conditions !== this.conditions) this.#become({ ...this.#status, conditions: [...conditions] });
  }

  /** Writes changes until aborted. */
  async run(signal: AbortSignal): Promise<void> {
    this.#reportAtStart();
    let failures = 0;
    while (!signal.aborted) {
      try {
        if (failures > 0) await this.#deps.clock.sleep(backoffMs(RETRY, failures, this.#deps.random), signal);
        else await this.#wake.wait(signal);
        await this.flush(signal);
        failures = 0;
        this.#deps.onFault?.(undefined);
      } catch (error) {
        if (signal.aborted) return;
        failures += 1;
        this.#deps.onFault?.(error);
        const level = failures === 1 ? 'debug' : 'warn';
        this.#deps.logger[level]({ err: error, failures }, 'the status of the Cluster resource cannot be written yet');
      }
    }
  }

  /** Writes what changed since the last write. @throws KubeError */
  async flush(signal: AbortSignal): Promise<void> {
    const status = this.#status;
    if (status === this.#written) return;
    const { name, namespace, uid, generation } = this.#deps.cluster().metadata;
    const contact = this.#deps.lastContact();
    const body = {
      ...status,
      ...(generation === undefined ? {} : { observedGeneration: generation }),
      ...(contact === undefined ? {} : { lastContactTime: contact.toISOString() }),
    };
    const metadata = { name, ...(namespace === undefined ? {} : { namespace }), ...(uid === undefined ? {} : { uid }) };
    try {
      await this.#deps.api.apply(
        { apiVersion: OPS_API_VERSION, kind: CLUSTER_KIND, metadata, status: body },
        { fieldManager: STATUS_FIELD_MANAGER, force: true, subresource: 'status' },
        signal,
      );
    } catch (error) {
      // Gone, or made anew: whoever watches the resource ends this writer.
      if (!(error instanceof KubeError) || (error.status !== 404 && error.status !== 409)) throw error;
      this.#deps.logger.debug({ err: error }, 'the Cluster resource is gone or was made anew');
    }
    const before = this.#written;
    const sourceBefore = this.#writtenSource;
    const { source } = this;
    this.#written = status;
    this.#writtenSource = source;
    const after = status.conditions ?? [];
    if (after === before.conditions && isSameSource(source, sourceBefore)) return;
    this.#deps.reporter.statusChanged({
      ref: this.ref,
      before: before.conditions ?? [],
      after,
      source,
      ...(sourceBefore === undefined ? {} : { sourceBefore }),
    });
  }

  /** What an earlier process wrote and could not post any more; what it did post is recognized by its keys. */
  #reportAtStart(): void {
    const after = this.#written.conditions ?? [];
    if (after.length === 0) return;
    this.#writtenSource = this.source;
    this.#deps.reporter.statusChanged({ ref: this.ref, before: [], after, source: this.source });
  }

  #become(status: ClusterStatus): void {
    if (isSame(status, this.#status)) return;
    this.#status = status;
    this.#wake.ring();
  }
}

function isSameSource(a: EventSource, b: EventSource | undefined): boolean {
  // The first configuration makes no other state of what was told before it, unless a switch waits to hear of it.
  if (b?.mode === undefined) return (a.epoch ?? 0) <= FIRST_EPOCH;
  return a.revision === b.revision && a.epoch === b.epoch && a.mode === b.mode;
}

function isSame(a: ClusterStatus, b: ClusterStatus): boolean {
  return a === b || JSON.stringify(a) === JSON.stringify(b);
}
