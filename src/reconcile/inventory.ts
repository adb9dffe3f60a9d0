import { createHash } from 'node:crypto';
import type { ConnectivityMode } from '../protocol/connectivity-mode.ts';
import type { ClusterApi } from '../kube/cluster-api.ts';
import {
  CLUSTER_ID_LABEL,
  INVENTORY_CONFIG_MAP,
  MANAGED_BY_LABEL,
  MANAGED_BY_VALUE,
  OPERATOR_NAMESPACE,
} from '../resources/labels.ts';
import { intentIdOf } from '../resources/intent-ids.ts';
import type { KubeObject, ObjectRef } from '../resources/kube-object.ts';
import { compareSource, type SourcePair } from '../resources/source-annotation.ts';
import { systemClock, type Clock } from '../runtime/clock.ts';
import type { Logger } from '../runtime/logger.ts';
import { ConfigMapShards } from './config-map-shards.ts';
import {
  DELETED_PREFIX,
  objectKey,
  parseDeleted,
  parseRecord,
  SOURCE_KEY,
  type DeletedRecord,
  type InventoryRecord,
} from './inventory-record.ts';
import { DELIVERED_KINDS } from './delivered-kinds.ts';
import { runOf, runOfGone } from './operation/run-record.ts';
import { greaterPair, pairOf } from './source-pair.ts';

/** Objects since deleted that are remembered; the oldest give way. Tombstones in Git are kept for 90 days besides. */
const MAX_DELETED = 5000;

export interface InventoryDeps {
  readonly api: ClusterApi;
  readonly logger: Logger;
  /** Asked at each save: the id is known only once the cluster is registered. */
  readonly clusterId: () => string;
  /** Default `service-system`. */
  readonly namespace?: string;
  /** Default: the system's. */
  readonly clock?: Clock;
}

/** Which transport and revision brought an object's present manifest. */
export interface Arrival {
  readonly pair: SourcePair;
  readonly mode?: ConnectivityMode;
  readonly revision?: string;
}

/**
 * What this cluster's operator has applied, whatever the mode, keyed by UID; and the order (epoch, generation) of what has
 * since been deleted. It lives in ConfigMaps, and losing them loses nothing that labels and the next pass do not restore.
 */
export class Inventory {
  readonly #deps: InventoryDeps;
  readonly #shards: ConfigMapShards;
  readonly #byUid = new Map<string, InventoryRecord>();
  readonly #uidOf = new Map<string, string>();
  readonly #deleted = new Map<string, DeletedRecord>();
  readonly #expected = new Map<string, Arrival>();
  #saving: Promise<unknown> = Promise.resolve();

  constructor(deps: InventoryDeps) {
    this.#deps = deps;
    this.#shards = new ConfigMapShards({
      api: deps.api,
      namespace: deps.namespace ?? OPERATOR_NAMESPACE,
      name: INVENTORY_CONFIG_MAP,
      labels: () => ({ [MANAGED_BY_LABEL]: MANAGED_BY_VALUE, [CLUSTER_ID_LABEL]: deps.clusterId() }),
    });
  }

  /**
   * Call once before the first `apply`. Where the ConfigMaps or parts of them are missing, or were written under another
   * cluster's record, it rebuilds from labels, which deletes nothing.
   *
   * @throws KubeError
   */
  async load(signal: AbortSignal): Promise<void> {
    this.#byUid.clear();
    this.#uidOf.clear();
    this.#deleted.clear();
    const found = await this.#shards.load(signal);
    const unreadable: string[] = [];
    for (const [key, text] of this.#shards.entries()) {
      if (key === SOURCE_KEY) continue;
      const deleted = key.startsWith(DELETED_PREFIX) ? parseDeleted(text) : undefined;
      const record = deleted === undefined ? parseRecord(text) : undefined;
      if (deleted !== undefined) this.#deleted.set(objectKey(deleted), deleted);
      else if (record !== undefined && record.uid === key) this.#index(record);
      else unreadable.push(key);
    }
    for (const key of unreadable) this.#shards.delete(key);
    if (found === 'all' && unreadable.length === 0) return;
    const rebuilt = await this.#rebuild(signal);
    this.#deps.logger.warn({ found, unreadable: unreadable.length, rebuilt }, 'inventory rebuilt from labels');
  }

  /** Every object that was applied and has not been seen to be gone. */
  records(): readonly InventoryRecord[] {
    return [...this.#byUid.values()];
  }

  find(ref: ObjectRef): InventoryRecord | undefined {
    const uid = this.#uidOf.get(objectKey(ref));
    return uid === undefined ? undefined : this.#byUid.get(uid);
  }

  deleted(ref: ObjectRef): DeletedRecord | undefined {
    return this.#deleted.get(objectKey(ref));
  }

  /** What is remembered of all that went. */
  allDeleted(): readonly DeletedRecord[] {
    return [...this.#deleted.values()];
  }

  /** How many went since then because their files had vanished, which nobody had accepted. */
  prunedSince(time: Date): number {
    const from = time.toISOString();
    return [...this.#deleted.values()].filter(({ pruned, at }) => pruned === true && at >= from).length;
  }

  /** What a source keeps here; it is written with the next save. */
  get source(): string | undefined {
    return this.#shards.get(SOURCE_KEY);
  }

  set source(text: string) {
    this.#shards.set(SOURCE_KEY, text);
  }

  /** The highest pair known for an object by this name, present or since deleted. */
  lastPair(ref: ObjectRef): SourcePair | undefined {
    return greaterPair(this.find(ref), this.deleted(ref));
  }

  /** Before an apply: so that a watch event which overtakes the apply's own answer already finds the revision. */
  expect(ref: ObjectRef, arrival: Arrival): void {
    this.#expected.set(objectKey(ref), arrival);
  }

  /** Which transport and revision brought `pair`, where that is known. */
  arrivalOf(ref: ObjectRef, pair: SourcePair): Arrival | undefined {
    const record = this.find(ref);
    const known: readonly (Arrival | undefined)[] = [
      this.#expected.get(objectKey(ref)),
      record && {
        pair: record,
        ...(record.mode === undefined ? {} : { mode: record.mode }),
        // Empty in records of before jobs had none.
        ...(record.revision === undefined || record.revision === '' ? {} : { revision: record.revision }),
      },
    ];
    return known.find((arrival) => arrival?.pair.epoch === pair.epoch && arrival.pair.generation === pair.generation);
  }

  /** After an apply, or when an object turned out to be as wanted. An earlier incarnation of the same name gives way. */
  record(record: InventoryRecord): void {
    this.#keep(record);
    this.#expected.delete(objectKey(record));
  }

  /** How far an operation is, which outlives the record of it: it runs once. */
  noteRun(record: InventoryRecord, run: NonNullable<InventoryRecord['run']>): void {
    this.#keep({ ...(this.#byUid.get(record.uid) ?? record), run });
  }

  /** An object is gone or was asked to go: its record ends, its order (epoch, generation) is kept. */
  remember(deleted: DeletedRecord): void {
    const key = objectKey(deleted);
    const uid = this.#uidOf.get(key);
    const pair = greaterPair(deleted, this.lastPair(deleted)) ?? deleted;
    const known = this.#deleted.get(key);
    const record = this.find(deleted);
    const run = runOfGone(deleted, record, known);
    // For whom it is still to be told that it is lost.
    const reportedFor = deleted.reportedFor ?? (run === 'begun' ? record?.intentId : undefined);
    // Of a run that went, another incarnation may have come by now.
    if (uid !== undefined && (deleted.run === undefined || deleted.uid === uid)) this.#drop(key, uid);
    const went = deleted.uid ?? uid ?? known?.uid;
    const { epoch, generation } = pair;
    const kept: DeletedRecord = {
      ...deleted,
      epoch,
      generation,
      ...(went === undefined ? {} : { uid: went }),
      ...(reportedFor === undefined ? {} : { reportedFor }),
      ...(run === undefined ? {} : { run }),
    };
    this.#deleted.set(key, kept);
    this.#shards.set(deletedKey(key), JSON.stringify(kept));
    while (this.#deleted.size > MAX_DELETED) {
      const [oldest] = [...this.#deleted].reduce((a, b) => (a[1].at <= b[1].at ? a : b));
      this.#deleted.delete(oldest);
      this.#shards.delete(deletedKey(oldest));
    }
  }

  /** Writes what changed since the last save, and nothing when nothing did. @throws KubeError */
  async save(signal: AbortSignal): Promise<void> {
    // One after the other: an older value must not arrive after a newer one.
    const turn = this.#saving.then(async () => await this.#shards.save(signal));
    this.#saving = turn.catch(() => undefined);
    await turn;
  }

  #keep(record: InventoryRecord): void {
    const earlier = this.find(record);
    const run = record.run ?? (earlier?.uid === record.uid ? earlier.run : undefined);
    const kept: InventoryRecord = run === undefined ? record : { ...record, run };
    if (earlier?.run !== undefined && earlier.uid !== record.uid) {
      const { apiVersion, kind, namespace, name, uid, epoch, generation } = earlier;
      const at = (this.#deps.clock ?? systemClock).now().toISOString();
      this.remember({ apiVersion, kind, namespace, name, uid, epoch, generation, at, run: earlier.run });
    }
    this.#index(kept);
    this.#shards.set(kept.uid, JSON.stringify(kept));
  }

  #index(record: InventoryRecord): void {
    const key = objectKey(record);
    const earlier = this.#uidOf.get(key);
    if (earlier !== undefined && earlier !== record.uid) this.#drop(key, earlier);
    this.#byUid.set(record.uid, record);
    this.#uidOf.set(key, record.uid);
  }

  #drop(key: string, uid: string): void {
    this.#byUid.delete(uid);
    this.#uidOf.delete(key);
    this.#shards.delete(uid);
  }

  async #rebuild(signal: AbortSignal): Promise<number> {
    const labelSelector = `${MANAGED_BY_LABEL}=${MANAGED_BY_VALUE},${CLUSTER_ID_LABEL}=${this.#deps.clusterId()}`;
    let rebuilt = 0;
    for (const kind of DELIVERED_KINDS) {
      const { items } = await this.#deps.api.list<KubeObject>(kind, { labelSelector }, signal);
      for (const object of items) {
        const record = recordOfLive(kind, object);
        if (record === undefined || this.#byUid.has(record.uid)) continue;
        const gone = this.#deleted.get(objectKey(record));
        // Taken by nobody: it came after its own end.
        if (gone !== undefined && gone.uid !== record.uid && compareSource(record, gone) < 0) continue;
        this.record(record);
        rebuilt += 1;
      }
    }
    return rebuilt;
  }
}

/** What can be told of an object by itself; undefined where it has no place in the order of deliveries. */
export function recordOfLive(
  kind: { readonly apiVersion: string; readonly kind: string },
  object: KubeObject,
): InventoryRecord | undefined {
  const { name, namespace, uid } = object.metadata;
  const pair = pairOf(object);
  if (namespace === undefined || uid === undefined || pair === undefined) return undefined;
  const intentId = intentIdOf(object);
  const run = runOf(object);
  return {
    apiVersion: kind.apiVersion,
    kind: kind.kind,
    namespace,
    name,
    uid,
    epoch: pair.epoch,
    generation: pair.generation,
    ...(intentId === undefined ? {} : { intentId }),
    sourceKey: '',
    fingerprint: '',
    ...(run === undefined ? {} : { run }),
  };
}

/** A ConfigMap's keys allow no slash, so an object's key stands there hashed. */
function deletedKey(key: string): string {
  return DELETED_PREFIX + createHash('sha256').update(key).digest('hex').slice(0, 32);
}
