import type { KubeObject } from '../resources/kube-object.ts';

export interface StoredEvent {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly resource: string;
  readonly object: KubeObject;
  /** The object before; selectors that it matched and no longer matches turn a change into a deletion. */
  readonly previous: KubeObject | undefined;
  readonly revision: number;
}

interface Shelf {
  readonly objects: Map<string, KubeObject>;
  history: StoredEvent[];
  /** Changes up to this revision are no longer in the history. */
  forgotten: number;
}

export interface Listing {
  readonly items: readonly KubeObject[];
  readonly revision: number;
}

export function keyOf(namespace: string | undefined, name: string): string {
  return `${namespace ?? ''}/${name}`;
}

/**
 * All objects, by resource (`widgets.example.com`), with one revision counter as etcd has it and a bounded
 * history of each resource. Stored objects are never changed in place.
 */
export class Storage {
  readonly #historyLimit: number;
  readonly #shelves = new Map<string, Shelf>();
  readonly #byUid = new Map<string, { resource: string; object: KubeObject }>();
  readonly #listeners = new Set<(event: StoredEvent) => void>();
  #revision = 1;
  /** Shelves made later have forgotten just as much. */
  #compacted = 0;

  constructor(deps: { readonly historyLimit: number }) {
    this.#historyLimit = deps.historyLimit;
  }

  get revision(): number {
    return this.#revision;
  }

  get(resource: string, namespace: string | undefined, name: string): KubeObject | undefined {
    return this.#shelves.get(resource)?.objects.get(keyOf(namespace, name));
  }

  byUid(uid: string): { readonly resource: string; readonly object: KubeObject } | undefined {
    return this.#byUid.get(uid);
  }

  resources(): readonly string[] {
    return [...this.#shelves.keys()];
  }

  /** In key order, as etcd lists them. */
  list(resource: string, namespace?: string): readonly KubeObject[] {
    return this.#sorted(this.#shelves.get(resource)?.objects ?? new Map(), namespace);
  }

  /** The listing as it was at an earlier revision; `undefined` when the history does not reach back that far. */
  listAt(resource: string, namespace: string | undefined, revision: number): readonly KubeObject[] | undefined {
    const shelf = this.#shelves.get(resource);
    if (shelf === undefined) return [];
    if (revision < shelf.forgotten) return undefined;
    const objects = new Map(shelf.objects);
    for (const event of shelf.history.toReversed()) {
      if (event.revision <= revision) break;
      const { namespace, name } = event.object.metadata;
      if (event.previous === undefined) objects.delete(keyOf(namespace, name));
      else objects.set(keyOf(namespace, name), event.previous);
    }
    return this.#sorted(objects, namespace);
  }

  /** Changes after a revision; `undefined` when some of them are forgotten. */
  since(resource: string, revision: number): readonly StoredEvent[] | undefined {
    const shelf = this.#shelves.get(resource);
    if (shelf === undefined) return revision < this.#compacted ? undefined : [];
    return revision < shelf.forgotten ? undefined : shelf.history.filter((event) => event.revision > revision);
  }

  put(resource: string, object: KubeObject): KubeObject {
    const key = keyOf(object.metadata.namespace, object.metadata.name);
    const shelf = this.#shelf(resource);
    const previous = shelf.objects.get(key);
    const stored = this.#stamped(object);
    shelf.objects.set(key, stored);
    if (stored.metadata.uid !== undefined) this.#byUid.set(stored.metadata.uid, { resource, object: stored });
    this.#record(shelf, { type: previous === undefined ? 'ADDED' : 'MODIFIED', resource, object: stored, previous });
    return stored;
  }

  remove(resource: string, object: KubeObject): KubeObject {
    const key = keyOf(object.metadata.namespace, object.metadata.name);
    const shelf = this.#shelf(resource);
    const previous = shelf.objects.get(key);
    const last = this.#stamped(object);
    shelf.objects.delete(key);
    if (last.metadata.uid !== undefined) this.#byUid.delete(last.metadata.uid);
    this.#record(shelf, { type: 'DELETED', resource, object: last, previous });
    return last;
  }

  /** Forgets the history, as etcd's compaction does: older resourceVersions and continue tokens answer 410. */
  compact(): void {
    this.#compacted = this.#revision;
    for (const shelf of this.#shelves.values()) {
      shelf.history = [];
      shelf.forgotten = this.#revision;
    }
  }

  subscribe(listener: (event: StoredEvent) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #shelf(resource: string): Shelf {
    let shelf = this.#shelves.get(resource);
    if (shelf === undefined) {
      shelf = { objects: new Map(), history: [], forgotten: this.#compacted };
      this.#shelves.set(resource, shelf);
    }
    return shelf;
  }

  #stamped(object: KubeObject): KubeObject {
    this.#revision += 1;
    const { finalizers = [], ownerReferences = [], ...metadata } = object.metadata;
    return {
      ...object,
      metadata: {
        ...metadata,
        ...(finalizers.length === 0 ? {} : { finalizers }),
        ...(ownerReferences.length === 0 ? {} : { ownerReferences }),
        resourceVersion: String(this.#revision),
      },
    };
  }

  #record(shelf: Shelf, change: Omit<StoredEvent, 'revision'>): void {
    const event = { ...change, revision: this.#revision };
    shelf.history.push(event);
    // Trimmed in blocks, so that a write stays cheap.
    if (shelf.history.length > this.#historyLimit * 2) {
      const dropped = shelf.history.splice(0, shelf.history.length - this.#historyLimit);
      shelf.forgotten = dropped.at(-1)?.revision ?? shelf.forgotten;
    }
    for (const listener of this.#listeners) listener(event);
  }

  #sorted(objects: ReadonlyMap<string, KubeObject>, namespace: string | undefined): readonly KubeObject[] {
    const entries = [...objects].filter(
      ([, object]) => namespace === undefined || object.metadata.namespace === namespace,
    );
    return entries.toSorted(([left], [right]) => (left < right ? -1 : 1)).map(([, object]) => object);
  }
}
