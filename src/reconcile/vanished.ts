import type { DesiredSet } from '../delivery/delivery.ts';
import { refOf, type ObjectRef } from '../resources/kube-object.ts';
import { objectKey, type InventoryRecord } from './inventory-record.ts';

/**
 * What was applied and is in no file of a complete source any more, although no tombstone that is about it (`stale`: the
 * keys of those that turned out not to be) asks for its end. It is kept and reported: silence is not a delete, unless the
 * cluster chose to prune. A file that is there but cannot be read has not vanished.
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
  const unreadable = new Set(set.faults.flatMap(({ key }) => [key, lastTwo(key)]));
  return records.filter((record) => !named.has(objectKey(record)) && !isOneOf(unreadable, record));
}

/** Those of them that the source says are to go, by the same file and the same incarnation. */
export function toPrune({ prunes = [] }: DesiredSet, gone: readonly InventoryRecord[]): readonly InventoryRecord[] {
  const uidOf = new Map(prunes.map(({ key, uid }) => [key, uid]));
  return gone.filter(({ sourceKey, uid }) => uidOf.get(sourceKey) === uid);
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
function isOneOf(files: ReadonlySet<string>, { sourceKey, namespace, name }: InventoryRecord): boolean {
  return files.has(sourceKey) || files.has(`${namespace}/${name}.yaml`);
}

function lastTwo(key: string): string {
  return key.split('/').slice(-2).join('/');
}
