import { isOperatorMark } from '../kube/withdraw-mark.ts';
import type { DesiredItem, DesiredSet } from '../delivery/delivery.ts';
import { compareSource } from '../resources/source-annotation.ts';
import { refOf, type KubeObject } from '../resources/kube-object.ts';
import { holds } from '../resources/drift.ts';
import { objectKey } from './inventory-record.ts';
import { isPaused } from './pause.ts';
import { pairOf } from './source-pair.ts';

/**
 * Compares what a watch shows with what was delivered, so that an edit or a deletion by hand is answered when it happens
 * and not with the next commit. The apply loop decides what to do about it.
 */
export class HandEdits {
  #wanted: ReadonlyMap<string, DesiredItem> = new Map();
  #of: DesiredSet | undefined;
  /** By UID the generation and owners whose departure was told: a status that is written again is no further edit. */
  readonly #told = new Map<string, string>();
  readonly #paused = new Set<string>();

  /** Whether the set has to be looked at again for this change of a delivered object. */
  calls(set: DesiredSet | undefined, object: KubeObject, isGone: boolean): boolean {
    const { uid = '' } = object.metadata;
    if (isGone) {
      this.#told.delete(uid);
      this.#paused.delete(uid);
      return this.#find(set, object) !== undefined;
    }
    if (isPaused(object)) {
      this.#paused.add(uid);
      return false;
    }
    if (this.#paused.delete(uid)) return true;
    const item = this.#find(set, object);
    if (item === undefined || !departs(object, item.object)) {
      this.#told.delete(uid);
      return false;
    }
    const edit = editOf(object);
    if (this.#told.get(uid) === edit) return false;
    this.#told.set(uid, edit);
    return true;
  }

  #find(set: DesiredSet | undefined, object: KubeObject): DesiredItem | undefined {
    if (set === undefined) return undefined;
    if (this.#of !== set) {
      this.#of = set;
      this.#wanted = new Map(set.objects.map((item) => [objectKey(refOf(item.object)), item]));
    }
    return this.#wanted.get(objectKey(refOf(object)));
  }
}

/** Who gives up a field changes no generation, only who the owners are. */
function editOf({ metadata: { generation = 0, managedFields = [] } }: KubeObject): string {
  return JSON.stringify([generation, managedFields.map(({ manager, operation }) => [manager, operation])]);
}

/** An object that the newest delivery has not reached yet differs for a better reason. */
function departs(live: KubeObject, desired: KubeObject): boolean {
  const [has, wants] = [pairOf(live), pairOf(desired)];
  if (has !== undefined && wants !== undefined && compareSource(has, wants) !== 0) return false;
  // Wanted, and marked by the operator all the same: whether that deletion was meant is the apply loop's to say.
  if (live.metadata.deletionTimestamp !== undefined && isOperatorMark(live)) return true;
  const { labels, annotations } = desired.metadata;
  return !holds(live, { spec: desired['spec'], metadata: { labels, annotations } });
}
