import type { KubeObject } from '../resources/kube-object.ts';
import type { Logger } from '../runtime/logger.ts';

type Listener<T> = (before: T | undefined, after: T | undefined) => void;

/** The objects of one informer, and who wants to know of their changes. A listener that throws disturbs nobody else. */
export class ObjectCache<T extends KubeObject> {
  readonly #objects = new Map<string, T>();
  readonly #listeners: Listener<T>[] = [];
  readonly #logger: Logger;

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  get(namespace: string | undefined, name: string): T | undefined {
    return this.#objects.get(`${namespace ?? ''}/${name}`);
  }

  list(): readonly T[] {
    return [...this.#objects.values()];
  }

  /** A late listener is told of what is there already. */
  listen(listener: Listener<T>): void {
    this.#listeners.push(listener);
    for (const object of this.#objects.values()) this.#tell(listener, undefined, object);
  }

  put(object: T): void {
    const key = keyOf(object);
    const before = this.#objects.get(key);
    const sameIncarnation = before?.metadata.uid === object.metadata.uid;
    if (sameIncarnation && before?.metadata.resourceVersion === object.metadata.resourceVersion) return;
    this.#objects.set(key, object);
    if (before !== undefined && !sameIncarnation) {
      // Deleted and made again while nobody watched: two changes, since nothing of the first carries over.
      this.#emit(before, undefined);
      this.#emit(undefined, object);
    } else {
      this.#emit(before, object);
    }
  }

  remove(object: T): void {
    const key = keyOf(object);
    const before = this.#objects.get(key);
    if (before === undefined) return;
    this.#objects.delete(key);
    this.#emit(before, undefined);
  }

  /** Takes a whole list: what is no longer in it was deleted. */
  replace(objects: readonly T[]): void {
    const listed = new Set(objects.map(keyOf));
    for (const [key, object] of this.#objects) if (!listed.has(key)) this.remove(object);
    for (const object of objects) this.put(object);
  }

  #emit(before: T | undefined, after: T | undefined): void {
    for (const listener of this.#listeners) this.#tell(listener, before, after);
  }

  #tell(listener: Listener<T>, before: T | undefined, after: T | undefined): void {
    try {
      listener(before, after);
    } catch (error) {
      const name = (after ?? before)?.metadata.name;
      this.#logger.error({ err: error, name }, 'a listener failed on a change');
    }
  }
}

function keyOf(object: KubeObject): string {
  return `${object.metadata.namespace ?? ''}/${object.metadata.name}`;
}
