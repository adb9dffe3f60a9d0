import type { KubeObject } from '../../resources/kube-object.ts';
import { OPERATION_KIND, type Operation } from '../../resources/operation.ts';
import type { DeletedRecord, InventoryRecord } from '../inventory-record.ts';
import { standingOf } from './operation-standing.ts';

/** How far an operation is by its own status; undefined: it has not begun, or the object is none. */
export function runOf(object: KubeObject): InventoryRecord['run'] {
  if (object.kind !== OPERATION_KIND) return undefined;
  const { kind } = standingOf(object as Operation);
  return kind === 'waiting' ? undefined : kind === 'running' ? 'begun' : 'ended';
}

/** How far an operation was that went: a copy that never ran does not make its original one that never did. */
export function runOfGone(
  gone: DeletedRecord,
  record: InventoryRecord | undefined,
  known: DeletedRecord | undefined,
): DeletedRecord['run'] {
  if (gone.kind !== OPERATION_KIND) return undefined;
  const isOfRecord = record !== undefined && (gone.uid ?? record.uid) === record.uid;
  const own = gone.run ?? (isOfRecord ? (record.run ?? 'never') : undefined);
  const hadRun = known !== undefined && known.run !== 'never';
  return hadRun && (own === 'never' || (own === undefined && known.uid === gone.uid)) ? known.run : own;
}
