import type { DesiredSet } from '../delivery/delivery.ts';
import { refOf, type ObjectRef } from '../resources/kube-object.ts';
import { objectKey, type InventoryRecord } from './inventory-record.ts';

/**
 * What was applied and is in no file of a complete source any more, although no tombstone that is about it (`stale`: the
 * keys of those that turned out not to be) asks for its end. It is kept and reported: silence is not a delete. A file that
 * is there but cannot be read has not vanished.
 */
export function vanished(
  set: DesiredSet,
  records: readonly InventoryRecord[],
  stale: ReadonlySet<string> = new Set(),
): readonly InventoryRecord[] {
  if (set.scope === 'partial') return [];
  const named = new Set([
    ...set.objects.map(({ object }) => objectKey(refOf(object))),
    ...set.removals.filter(({ key }) => !stale.has(key)).map(({ tombstone }) => objectKey(tombstone)),
  ]);
  const unreadable = set.faults.map(({ key }) => key);
  return records.filter((record) => !named.has(objectKey(record)) && !unreadable.some((key) => isFileOf(key, record)));
}

export function refOfRecord({
  apiVersion,
  kind,
  namespace,
  name,
}: InventoryRecord): ObjectRef & { readonly namespace: string } {
  return { apiVersion, kind, namespace, name };
}

/** A record that was rebuilt from labels does not know its file, but files are named by namespace and name. */
function isFileOf(key: string, record: InventoryRecord): boolean {
  return key === record.sourceKey || key.endsWith(`/${record.namespace}/${record.name}.yaml`);
}
