import type { ClusterApi } from '../kube/cluster-api.ts';
import { KubeError } from '../kube/cluster-api.ts';
import { META_FIELD_MANAGER } from '../resources/labels.ts';
import type { KubeObject, ObjectRef } from '../resources/kube-object.ts';

/** etcd refuses objects over 1.5 MiB and the API server ConfigMaps over 1 MiB; metadata needs room too. */
const SHARD_BYTES = 900 * 1024;

/** In the first ConfigMap, once there are more: how many, so that one that is missing is missed. */
const COUNT_KEY = 'shards';

interface ConfigMap extends KubeObject {
  data?: Record<string, string>;
}

interface Shard {
  readonly name: string;
  readonly entries: Map<string, string>;
  bytes: number;
  /** Keys that differ from what the API server has. */
  readonly dirty: Set<string>;
  stored: boolean;
  /** It carries another's labels; the next write puts ours. */
  isForeign: boolean;
}

/**
 * What was found of what was saved: all of it; a part, since ConfigMaps are missing; or nothing that is ours. `part` and
 * `nothing` are also the answer to what was saved under other labels: that is another's, and is written over.
 */
export type Found = 'all' | 'part' | 'nothing';

export interface ConfigMapShardsDeps {
  readonly api: ClusterApi;
  readonly namespace: string;
  /** Name of the first ConfigMap; the others are `<name>-2`, `<name>-3` and so on. */
  readonly name: string;
  /** On every ConfigMap; asked at each save. */
  readonly labels: () => Readonly<Record<string, string>>;
}

/** A map of strings that outlives the program: kept in as many ConfigMaps as it needs, written by what changed only. */
export class ConfigMapShards {
  readonly #deps: ConfigMapShardsDeps;
  readonly #shards: Shard[] = [];
  readonly #home = new Map<string, Shard>();

  constructor(deps: ConfigMapShardsDeps) {
    this.#deps = deps;
  }

  /** Reads all shards. */
  async load(signal: AbortSignal): Promise<Found> {
    this.#shards.length = 0;
    this.#home.clear();
    let [found, missing] = [0, 0];
    let expected = 1;
    // One beyond what is known of: a crash may have left it uncounted, or the one that counts is lost.
    for (let index = 0; index < Math.max(expected, 2) || this.#shards[index - 1]?.stored === true; index += 1) {
      const stored = await this.#deps.api.get<ConfigMap>(this.#ref(this.#nameOf(index)), signal);
      const shard = this.#addShard(stored !== undefined);
      shard.isForeign = stored !== undefined && this.#isForeign(stored);
      if (stored === undefined) missing += index < expected ? 1 : 0;
      else if (shard.isForeign) for (const key of Object.keys(stored.data ?? {})) shard.dirty.add(key);
      else {
        found += 1;
        for (const [key, value] of Object.entries(stored.data ?? {})) this.#take(shard, key, value);
      }
      expected = Math.max(expected, Number(this.#shards[0]?.entries.get(COUNT_KEY) ?? 1));
    }
    while (this.#shards.at(-1)?.stored === false) this.#shards.pop();
    if (found === 0) return 'nothing';
    return missing > 0 || this.#shards.some(({ isForeign }) => isForeign) ? 'part' : 'all';
  }

  entries(): ReadonlyMap<string, string> {
    const all = new Map(this.#shards.flatMap((shard) => [...shard.entries]));
    all.delete(COUNT_KEY);
    return all;
  }

  get(key: string): string | undefined {
    return this.#home.get(key)?.entries.get(key);
  }

  get dirty(): boolean {
    return this.#shards.some((shard) => shard.dirty.size > 0);
  }

  set(key: string, value: string): void {
    const home = this.#home.get(key);
    if (home?.entries.get(key) === value) return;
    if (home !== undefined) this.#remove(home, key);
    const needed = size(key, value);
    const shard =
      (home !== undefined && home.bytes + needed <= SHARD_BYTES ? home : undefined) ??
      this.#shards.find((candidate) => candidate.bytes + needed <= SHARD_BYTES) ??
      this.#addShard(false);
    this.#put(shard, key, value);
    shard.dirty.add(key);
    this.#count();
  }

  delete(key: string): void {
    const home = this.#home.get(key);
    if (home === undefined) return;
    this.#remove(home, key);
  }

  /**
   * Writes what changed since the last save, and nothing when nothing did. A failed save is repeated by the next one.
   *
   * @throws KubeError
   */
  async save(signal: AbortSignal): Promise<void> {
    for (const shard of this.#shards) {
      if (shard.dirty.size === 0) continue;
      const keys = [...shard.dirty];
      const data = Object.fromEntries(keys.map((key) => [key, shard.entries.get(key) ?? null]));
      const sent = new Map(keys.map((key) => [key, shard.entries.get(key)]));
      await this.#write(shard, data, signal);
      shard.stored = true;
      for (const [key, value] of sent) if (shard.entries.get(key) === value) shard.dirty.delete(key);
    }
  }

  /** A crash while an entry moved between shards leaves it in both. */
  #take(shard: Shard, key: string, value: string): void {
    if (this.#home.has(key)) shard.dirty.add(key);
    else this.#put(shard, key, value);
  }

  #isForeign({ metadata }: ConfigMap): boolean {
    const has = metadata.labels ?? {};
    return Object.entries(this.#deps.labels()).some(([name, value]) => has[name] !== undefined && has[name] !== value);
  }

  async #write(shard: Shard, data: Record<string, string | null>, signal: AbortSignal): Promise<void> {
    const options = { fieldManager: META_FIELD_MANAGER };
    if (shard.stored) {
      try {
        const labels = shard.isForeign ? { metadata: { labels: { ...this.#deps.labels() } } } : {};
        await this.#deps.api.mergePatch(this.#ref(shard.name), { ...labels, data }, options, signal);
        shard.isForeign = false;
        return;
      } catch (error) {
        if (!(error instanceof KubeError) || error.status !== 404) throw error;
      }
    }
    try {
      await this.#deps.api.create(
        {
          ...this.#ref(shard.name),
          metadata: { name: shard.name, namespace: this.#deps.namespace, labels: { ...this.#deps.labels() } },
          data: Object.fromEntries(shard.entries),
        },
        META_FIELD_MANAGER,
        signal,
      );
    } catch (error) {
      if (!(error instanceof KubeError) || error.status !== 409) throw error;
      await this.#deps.api.mergePatch(this.#ref(shard.name), { data }, options, signal);
    }
  }

  #addShard(stored: boolean): Shard {
    const shard: Shard = {
      name: this.#nameOf(this.#shards.length),
      entries: new Map(),
      bytes: 0,
      dirty: new Set(),
      stored,
      isForeign: false,
    };
    this.#shards.push(shard);
    return shard;
  }

  #count(): void {
    const [first] = this.#shards;
    const count = String(this.#shards.length);
    if (first === undefined || count === '1' || first.entries.get(COUNT_KEY) === count) return;
    first.entries.set(COUNT_KEY, count);
    first.dirty.add(COUNT_KEY);
  }

  #put(shard: Shard, key: string, value: string): void {
    shard.entries.set(key, value);
    shard.bytes += size(key, value);
    this.#home.set(key, shard);
  }

  #remove(shard: Shard, key: string): void {
    shard.bytes -= size(key, shard.entries.get(key) ?? '');
    shard.entries.delete(key);
    shard.dirty.add(key);
    this.#home.delete(key);
  }

  #nameOf(index: number): string {
    return index === 0 ? this.#deps.name : `${this.#deps.name}-${index + 1}`;
  }

  #ref(name: string): ObjectRef & { readonly apiVersion: string; readonly kind: string } {
    return { apiVersion: 'v1', kind: 'ConfigMap', namespace: this.#deps.namespace, name };
  }
}

function size(key: string, value: string): number {
  return Buffer.byteLength(key) + Buffer.byteLength(value) + 8;
}
