import { knownPairOf } from '../resources/known-pair.ts';
import { refOf, type KubeObject } from '../resources/kube-object.ts';
import { isManaged } from '../resources/managed-object.ts';
import { compareSource } from '../resources/source-annotation.ts';
import type { Clock } from '../runtime/clock.ts';
import type { ClusterPolicy } from '../policy/cluster-policy.ts';
import { recordOfLive, type Inventory } from './inventory.ts';
import type { InventorySaver } from './inventory-saver.ts';
import { greaterPair, pairOf } from './source-pair.ts';
import { sourceIsStale } from './stale-source.ts';
import type { OwnObject } from './write-status.ts';

export interface AdoptionDeps {
  readonly inventory: Inventory;
  readonly saver: Pick<InventorySaver, 'changed'>;
  readonly policy: () => ClusterPolicy;
  readonly clock: Clock;
}

/**
 * Keeps the inventory of what comes and goes without a pass of the apply loop: by the control plane's own writes in push
 * mode, and what an earlier way had brought while nobody watched. What the present pull or gitops way brings is noted by
 * the pass that applies it, and by nobody else.
 */
export class Adoption {
  readonly #deps: AdoptionDeps;

  constructor(deps: AdoptionDeps) {
    this.#deps = deps;
  }

  /** A watch shows the object as it is, or as it was last. */
  seen(object: OwnObject, isGone: boolean): void {
    const pair = isGone ? knownPairOf(object) : pairOf(object);
    const { clusterId, mode, deliveryEpoch } = this.#deps.policy();
    if (pair === undefined || !isManaged(object, clusterId)) return;
    const isOfNow = pair.epoch >= deliveryEpoch;
    if (mode !== 'push' && isOfNow) return;
    const isNews = isGone ? this.#gone(object) : this.#present(object, mode === 'push' && isOfNow);
    if (isNews) this.#deps.saver.changed();
  }

  /** What stands in the annotation is the order of the delivery that asked for the end, where there was one. */
  #gone(object: KubeObject): boolean {
    const { inventory, clock } = this.#deps;
    const { name, namespace, uid } = object.metadata;
    const ref = refOf(object);
    const record = inventory.find(ref);
    if (namespace === undefined || (record !== undefined && record.uid !== uid)) return false;
    const pair = greaterPair(knownPairOf(object), inventory.lastPair(ref));
    const known = inventory.deleted(ref);
    const isKnown =
      record === undefined && known !== undefined && pair !== undefined && compareSource(known, pair) >= 0;
    if (pair === undefined || isKnown) return false;
    const { apiVersion, kind } = object;
    const { epoch, generation } = pair;
    const went = uid === undefined ? {} : { uid };
    inventory.remember({
      apiVersion,
      kind,
      namespace,
      name,
      epoch,
      generation,
      at: clock.now().toISOString(),
      ...went,
    });
    return true;
  }

  #present(object: OwnObject, isPushed: boolean): boolean {
    const { inventory } = this.#deps;
    if (object.metadata.deletionTimestamp !== undefined) return false;
    if (sourceIsStale(object, inventory, this.#deps.policy()) !== undefined) return false;
    const found = recordOfLive(object, object);
    const record = inventory.find(refOf(object));
    if (found === undefined) return false;
    const order = record?.uid === found.uid ? compareSource(found, record) : 1;
    // One that was rebuilt from labels does not say how the object came.
    const isIncomplete = order === 0 && isPushed && record?.mode === undefined;
    if (order <= 0 && !isIncomplete) return false;
    inventory.record(isPushed ? { ...found, mode: 'push' } : found);
    return true;
  }
}
