import type { ClusterApi, KindRef } from '../kube/cluster-api.ts';
import type { KubeObject, ObjectRef } from '../resources/kube-object.ts';
import { objectKey } from './inventory-record.ts';

/** From so many objects on it is cheaper to list a kind than to get each. */
const LIST_FROM = 20;

/** What stands in the cluster, read once a pass. A write carries the resourceVersion seen here, so a late one is refused. */
export class LiveObjects {
  readonly #api: ClusterApi;
  readonly #objects = new Map<string, Promise<KubeObject | undefined>>();
  readonly #listed = new Map<string, ReadonlyMap<string, KubeObject>>();

  constructor(api: ClusterApi) {
    this.#api = api;
  }

  /** Prepares for reading `refs`. @throws KubeError */
  async expect(refs: readonly ObjectRef[], signal: AbortSignal): Promise<void> {
    const kinds = new Map<string, { readonly kind: KindRef; count: number }>();
    for (const ref of refs) {
      const id = kindId(ref);
      const entry = kinds.get(id) ?? { kind: { apiVersion: ref.apiVersion, kind: ref.kind }, count: 0 };
      entry.count += 1;
      kinds.set(id, entry);
    }
    for (const [id, { kind, count }] of kinds) {
      if (count < LIST_FROM) continue;
      const { items } = await this.#api.list<KubeObject>(kind, {}, signal);
      this.#listed.set(
        id,
        new Map(items.map((item) => [objectKey({ ...kind, ...item.metadata }), { ...item, ...kind }])),
      );
    }
  }

  /** @throws KubeError */
  async get(ref: ObjectRef, signal: AbortSignal): Promise<KubeObject | undefined> {
    const key = objectKey(ref);
    const listed = this.#listed.get(kindId(ref));
    if (listed !== undefined && !this.#objects.has(key)) return listed.get(key);
    return await this.#read(key, ref, signal);
  }

  /** Reads anew what turned out to have changed since. */
  async refresh(ref: ObjectRef, signal: AbortSignal): Promise<KubeObject | undefined> {
    const key = objectKey(ref);
    this.#objects.delete(key);
    return await this.#read(key, ref, signal);
  }

  async #read(key: string, ref: ObjectRef, signal: AbortSignal): Promise<KubeObject | undefined> {
    const reading = this.#objects.get(key) ?? this.#api.get<KubeObject>(ref, signal);
    this.#objects.set(key, reading);
    try {
      return await reading;
    } catch (error) {
      this.#objects.delete(key);
      throw error;
    }
  }
}

function kindId(kind: KindRef): string {
  return `${kind.apiVersion}/${kind.kind}`;
}
