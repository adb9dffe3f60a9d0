import { findCondition } from '../resources/conditions.ts';
import { refOf, type KubeObject } from '../resources/kube-object.ts';
import { APPLICATION_INSTANCE_FINALIZER, PUSH_FIELD_MANAGER, SOURCE_ANNOTATION } from '../resources/labels.ts';
import { isManaged } from '../resources/managed-object.ts';
import { Reason } from '../resources/reasons.ts';
import { compareSource, formatSource } from '../resources/source-annotation.ts';
import type { ClusterPolicy } from '../policy/cluster-policy.ts';
import type { Inventory } from './inventory.ts';
import type { OwnObject } from './write-status.ts';
import { pairOf } from './source-pair.ts';

/** What an object is held against: what is there by the operator's own knowledge, and what went. */
export type SourceMemory = Pick<Inventory, 'find' | 'deleted'>;

/** An object that no delivery of now asks for. */
export interface StaleSource {
  readonly message: string;
  /**
   * `uninstalled`: a later uninstall of it was carried out. `late`: it is of before the last switch, and came after it; what
   * is to be there comes by the present way.
   */
  readonly why: 'uninstalled' | 'late';
  /** The intent that uninstalled it, where the object is that very payload: written by the control plane, used by nobody. */
  readonly removedBy?: string;
}

/**
 * Whether an object came after its own end. A create carries no resourceVersion, so one that its writer gave up long ago may
 * still be delivered by the network, or be restored from a backup, and would bring back what was uninstalled since.
 *
 * What the inventory holds by its UID was taken when it came, and is never stale; nor is one that has the pair of what was
 * remembered (deleted by hand or pruned, and brought again), nor one that the operator has ever worked on, by which an
 * object that a switch left, or that was restored with its namespace, is told from one that comes late. Pure.
 */
export function sourceIsStale(
  object: OwnObject,
  memory: SourceMemory,
  policy: Pick<ClusterPolicy, 'clusterId' | 'deliveryEpoch'>,
): StaleSource | undefined {
  const ref = refOf(object);
  const pair = pairOf(object);
  const { uid, deletionTimestamp } = object.metadata;
  if (pair === undefined || deletionTimestamp !== undefined || !isManaged(object, policy.clusterId)) return undefined;
  const known = memory.find(ref);
  if (known !== undefined && known.uid === uid) return undefined;
  const gone = memory.deleted(ref);
  // The very incarnation that went: the watch has not come as far.
  if (gone !== undefined && gone.uid !== undefined && gone.uid === uid) return undefined;
  const isLate = isPushed(object) && !wasWorkedOn(object);
  if (gone !== undefined && compareSource(pair, gone) < 0) {
    const message =
      `source ${formatSource(pair)} is older than ${formatSource(gone)}, by which ${object.kind} ${object.metadata.name} went: ` +
      `nothing is made of it; to have it again ask for it anew through the control plane, or take the annotation ${SOURCE_ANNOTATION} off`;
    const { reportedFor } = gone;
    return { message, why: 'uninstalled', ...(isLate && reportedFor !== undefined ? { removedBy: reportedFor } : {}) };
  }
  if (pair.epoch >= policy.deliveryEpoch || !isLate || known !== undefined) return undefined;
  const message =
    `source ${formatSource(pair)} is of delivery epoch ${pair.epoch}, and it came when the cluster was at ${policy.deliveryEpoch}: ` +
    `nothing is made of it until it is delivered under that; if it is not, ask for it anew through the control plane, ` +
    `take the annotation ${SOURCE_ANNOTATION} off, or delete it`;
  return { message, why: 'late' };
}

function isPushed({ metadata }: KubeObject): boolean {
  return (metadata.managedFields ?? []).some(
    ({ manager, operation }) => manager === PUSH_FIELD_MANAGER && operation === 'Apply',
  );
}

/** An operator has made something of it, or judged it: by more than this here. */
function wasWorkedOn({ metadata, status }: OwnObject): boolean {
  if (metadata.finalizers?.includes(APPLICATION_INSTANCE_FINALIZER) === true) return true;
  const conditions = status?.conditions ?? [];
  const said = findCondition(conditions, 'Ready') ?? findCondition(conditions, 'Accepted');
  return said !== undefined && said.reason !== Reason.StaleSource;
}
