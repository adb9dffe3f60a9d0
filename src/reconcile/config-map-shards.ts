import type { ClusterApi } from '../kube/cluster-api.ts';
import { KubeError } from '../kube/cluster-api.ts';
import { META_FIELD_MANAGER } from '../resources/labels.ts';
import type { KubeObject, ObjectRef } from '../resources/kube-object.ts';

/** etcd refuses objects over 1.5 MiB and the API server ConfigMaps over 1 MiB; metadata needs room too. */
const SHARD_BYTES = 900 * 1024;

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
}

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

  /** Reads all shards. Answers false when there is none: nothing was ever saved, or someone deleted it. */
  async load(signal: AbortSignal): Promise<boolean> {
    this.#shards.length = 0;
    this.#home.clear();
    for (let index = 0; ; index += 1) {
      const stored = await this.#deps.api.get<ConfigMap>(this.#ref(this.#nameOf(index)), signal);
      if (stored === undefined) break;
      const shard = this.#addShard(true);
      for (const [key, value] of Object.entries(stored.data ?? {})) {
        // A crash while an entry moved between shards leaves it in both.
        if (this.#home.has(key)) shard.dirty.add(key);
        else this.#put(shard, key, value);
      }
    }
    return this.#shards.length > 0;
  }

  entries(): ReadonlyMap<string, string> {
    return new Map(this.#shards.flatMap((shard) => [...shard.entries]));
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

  async #write(shard: Shard, data: Record<string, string | null>, signal: AbortSignal): Promise<void> {
    const options = { fieldManager: META_FIELD_MANAGER };
    if (shard.stored) {
      try {
        await this.#deps.api.mergePatch(this.#ref(shard.name), { data }, options, signal);
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
    };
    this.#shards.push(shard);
    return shard;
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
