import type { Reporter, StatusChange } from '../../events/report/reporter.ts';
import type { ConnectivityMode } from '../../protocol/connectivity-mode.ts';
import type { ClusterPolicy } from '../../policy/cluster-policy.ts';
import { refOf } from '../../resources/kube-object.ts';
import { isManaged } from '../../resources/managed-object.ts';
import { OPERATION_KIND, type Operation } from '../../resources/operation.ts';
import { Reason } from '../../resources/reasons.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { InventorySaver } from '../inventory-saver.ts';
import type { DeletedRecord, InventoryRecord } from '../inventory-record.ts';
import { recordOfLive, type Inventory } from '../inventory.ts';
import { pairOf } from '../source-pair.ts';
import { runOf } from './run-record.ts';

export interface KnownRunsDeps {
  readonly inventory: Inventory;
  readonly saver: Pick<InventorySaver, 'changed' | 'saved'>;
  readonly reporter: Reporter;
  readonly policy: () => ClusterPolicy;
  readonly clock: Clock;
}

/** Before anything of it begins: durable once it resolves. @throws KubeError */
export async function noteBegun(
  {
    inventory,
    saver,
    policy,
  }: Pick<KnownRunsDeps, 'inventory' | 'policy'> & { readonly saver: Pick<InventorySaver, 'saved'> },
  operation: Operation,
  signal: AbortSignal,
): Promise<void> {
  const found = isManaged(operation, policy().clusterId) ? recordOfLive(operation, operation) : undefined;
  const pair = pairOf(operation);
  if (found === undefined || pair === undefined) return;
  const ref = refOf(operation);
  const known = inventory.find(ref);
  if (known?.uid !== found.uid || known.run === undefined) {
    const { mode, revision } = inventory.arrivalOf(ref, pair) ?? {};
    const arrived = { ...(mode === undefined ? {} : { mode }), ...(revision === undefined ? {} : { revision }) };
    inventory.noteRun({ ...found, ...arrived }, 'begun');
  }
  // Though it is known here, an earlier save of it may have failed.
  await saver.saved(signal);
}

/** Keeps what is known of how far operations are, and tells of those that went while they ran. */
export class KnownRuns {
  readonly #deps: KnownRunsDeps;

  constructor(deps: KnownRunsDeps) {
    this.#deps = deps;
  }

  /** A watch shows the operation as it is, or as it was last. */
  seen(operation: Operation, isGone: boolean): void {
    const { inventory, saver, policy } = this.#deps;
    const record = inventory.find(refOf(operation));
    const { uid } = operation.metadata;
    const run = runOf(operation);
    const isNews = run !== undefined && record?.run !== run && record?.run !== 'ended';
    if (isNews && record !== undefined && record.uid === uid && isManaged(operation, policy().clusterId)) {
      inventory.noteRun(record, run);
      saver.changed();
    }
    // What had ended when it went is not lost.
    const settledUid = isGone && run !== 'ended' ? undefined : uid;
    this.#settle(inventory.find(refOf(operation)), settledUid);
    this.#settle(inventory.deleted(refOf(operation)), settledUid);
  }

  /** What went while no operator watched, once all operations are known. */
  settleAll(live: readonly Operation[]): void {
    const uids = new Set(live.map(({ metadata }) => metadata.uid));
    const { inventory } = this.#deps;
    for (const record of [...inventory.records(), ...inventory.allDeleted()]) {
      if (record.uid !== undefined && !uids.has(record.uid)) this.#settle(record, undefined);
    }
  }

  #settle(record: InventoryRecord | DeletedRecord | undefined, liveUid: string | undefined): void {
    if (record?.kind !== OPERATION_KIND || record.run !== 'begun' || record.uid === liveUid) return;
    const { inventory, saver, reporter, clock, policy } = this.#deps;
    const { apiVersion, kind, namespace, name, uid, epoch, generation } = record;
    const intentId = 'intentId' in record ? record.intentId : 'reportedFor' in record ? record.reportedFor : undefined;
    const gone: DeletedRecord = {
      apiVersion,
      kind,
      namespace,
      name,
      epoch,
      generation,
      at: clock.now().toISOString(),
      ...(uid === undefined ? {} : { uid }),
      ...(intentId === undefined ? {} : { reportedFor: intentId }),
      run: 'lost',
    };
    inventory.remember(gone);
    saver.changed();
    reporter.statusChanged(lostRun(gone, policy().mode));
  }
}

/** The end of an operation that nobody will see end any more; the same each time it is told. */
export function lostRun(gone: DeletedRecord, mode: ConnectivityMode): StatusChange {
  const { apiVersion, kind, namespace, name, uid, epoch, generation, at, reportedFor: intentId } = gone;
  const message = 'it was deleted while it ran, so nobody can say how it ended; what it had begun may go on';
  const condition = { reason: Reason.OperationLost, message, lastTransitionTime: at } as const;
  return {
    ref: { apiVersion, kind, namespace, name, ...(uid === undefined ? {} : { uid }) },
    before: [],
    after: [
      { type: 'Running', status: 'False', ...condition },
      { type: 'Failed', status: 'True', ...condition },
    ],
    source: { mode, epoch, generation, ...(intentId === undefined ? {} : { intentId }) },
  };
}
