import type { ClusterApi, Informer, KindRef } from '../kube/cluster-api.ts';
import { createInformer } from '../kube/informer.ts';
import type { KubeObject, ObjectRef } from '../resources/kube-object.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Logger } from '../runtime/logger.ts';
import { FreshObjects } from './fresh-objects.ts';

export interface WatchedDeps {
  readonly api: ClusterApi;
  readonly clock: Clock;
  readonly random: () => number;
  readonly logger: Logger;
}

/** One kind as a controller sees it: from the watch, corrected by the controller's own writes. */
export class Watched<T extends KubeObject> {
  readonly kind: KindRef;
  readonly #deps: WatchedDeps;
  readonly #informer: Informer<T>;
  readonly #fresh: FreshObjects;
  #isSynced = false;

  constructor(deps: WatchedDeps, kind: KindRef, labelSelector?: string) {
    this.kind = { apiVersion: kind.apiVersion, kind: kind.kind };
    this.#deps = deps;
    this.#fresh = new FreshObjects(deps.api);
    this.#informer = createInformer<T>({
      ...deps,
      kind: this.kind,
      ...(labelSelector === undefined ? {} : { labelSelector }),
    });
  }

  onChange(listener: (object: T) => void): void {
    this.#informer.onChange((before, after) => {
      const object = after ?? before;
      if (object === undefined) return;
      if (after === undefined) this.#fresh.forget(this.refOf(object.metadata.namespace, object.metadata.name));
      listener(object);
    });
  }

  async run(signal: AbortSignal): Promise<void> {
    this.#informer.synced(signal).then(
      () => {
        this.#isSynced = true;
      },
      () => undefined,
    );
    await this.#informer.run(signal);
  }

  async synced(signal?: AbortSignal): Promise<void> {
    await this.#informer.synced(signal);
  }

  /** Before the first list is in (the kind may not be served at all) it asks the server. @throws KubeError */
  async get(namespace: string | undefined, name: string, signal: AbortSignal): Promise<T | undefined> {
    const ref = this.refOf(namespace, name);
    if (!this.#isSynced) return await this.#deps.api.get<T>(ref, signal);
    return await this.#fresh.newest(ref, this.#informer.get(namespace, name), signal);
  }

  list(): readonly T[] {
    return this.#informer.list();
  }

  note(written: T): void {
    this.#fresh.note(written);
  }

  refOf(namespace: string | undefined, name: string): ObjectRef {
    return namespace === undefined ? { ...this.kind, name } : { ...this.kind, namespace, name };
  }
}
