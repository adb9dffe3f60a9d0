import type { DesiredSet, Outcome, SourceFault } from '../delivery/delivery.ts';
import { refOf, type ObjectRef } from '../resources/kube-object.ts';
import { Reason } from '../resources/reasons.ts';
import { objectKey, type InventoryRecord } from './inventory-record.ts';

const MAX_SHOWN = 10;

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

/**
 * Why none of them goes yet: something else of the same revision is not applied. A file that moved is a file that vanished
 * and one that came; and what is there now must not go before what takes its place is there. A tombstone is asked for by
 * itself and waits for nothing.
 */
export function pruneWaitsFor(
  { objects }: DesiredSet,
  outcomes: ReadonlyMap<string, Outcome>,
  gone: readonly InventoryRecord[],
): SourceFault | undefined {
  const bad = objects.map(({ key }) => [key, outcomes.get(key)] as const).filter(([, outcome]) => isBad(outcome));
  const [first] = bad;
  if (gone.length === 0 || first === undefined) return undefined;
  const [key, outcome] = first;
  const reason = outcome !== undefined && 'reason' in outcome ? ` (${outcome.reason})` : '';
  const others = bad.length === 1 ? '' : ` and ${bad.length - 1} more`;
  const kept = gone.slice(0, MAX_SHOWN).map(({ sourceKey }) => sourceKey);
  const more = gone.length > MAX_SHOWN ? ` and ${gone.length - MAX_SHOWN} more` : '';
  return {
    key: 'removals',
    reason: Reason.RemovalsHeld,
    message:
      `nothing is removed for ${kept.join(', ')}${more} while a file of the same revision is not applied: ` +
      `${key}${reason}${others}; to remove one before that, uninstall it through the control plane`,
  };
}

function isBad(outcome: Outcome | undefined): boolean {
  return outcome === undefined || !['applied', 'unchanged', 'absent', 'deleted'].includes(outcome.state);
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
