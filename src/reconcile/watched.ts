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

/** Which objects of a kind, and how patiently. */
export interface WatchedScope {
  readonly namespace?: string;
  readonly labelSelector?: string;
  /** What is kept of an object (default: all of it). */
  readonly keep?: (object: KubeObject) => KubeObject;
  /** Longest wait between two tries, in milliseconds. */
  readonly maxWaitMs?: number;
  /** What keeps it from watching now; undefined once it watches. */
  readonly onHealth?: (fault: unknown) => void;
}

/** One kind as the steps of a pass see it, be it from one watch or from several. */
export interface WatchedView<T extends KubeObject> {
  readonly kind: KindRef;
  /** @throws KubeError */
  get(namespace: string | undefined, name: string, signal: AbortSignal): Promise<T | undefined>;
  /** After a write of one's own: the object as the API server answered it. */
  note(written: T): void;
}

/** One kind as a controller sees it: from the watch, corrected by the controller's own writes. */
export class Watched<T extends KubeObject> implements WatchedView<T> {
  readonly kind: KindRef;
  readonly #deps: WatchedDeps;
  readonly #informer: Informer<T>;
  readonly #fresh: FreshObjects;
  /** Settles with the first list, or with the first fault that keeps it from coming. */
  readonly #firstTry = Promise.withResolvers<void>();
  /** What keeps the watch from standing now. */
  #fault: unknown;
  #isSynced = false;
  #isRunning = false;

  constructor(deps: WatchedDeps, kind: KindRef, scope: WatchedScope = {}) {
    this.kind = { apiVersion: kind.apiVersion, kind: kind.kind };
    this.#deps = deps;
    this.#fresh = new FreshObjects();
    const { api, clock, random, logger } = deps;
    this.#informer = createInformer<T>({
      api,
      clock,
      random,
      logger,
      kind: this.kind,
      ...scope,
      onHealth: (fault) => {
        this.#fault = fault;
        this.#firstTry.resolve();
        scope.onHealth?.(fault);
      },
    });
  }

  get isSynced(): boolean {
    return this.#isSynced;
  }

  /** Called with the object as it is, or as it was last when it is gone. */
  onChange(listener: (object: T, isGone: boolean) => void): void {
    this.#informer.onChange((before, after) => {
      const object = after ?? before;
      if (object === undefined) return;
      if (after === undefined) this.#fresh.forget(this.refOf(object.metadata.namespace, object.metadata.name));
      listener(object, after === undefined);
    });
  }

  async run(signal: AbortSignal): Promise<void> {
    this.#isRunning = true;
    this.#informer.synced(signal).then(
      () => {
        this.#isSynced = true;
        this.#firstTry.resolve();
      },
      () => this.#firstTry.resolve(),
    );
    await this.#informer.run(signal);
  }

  async synced(signal?: AbortSignal): Promise<void> {
    await this.#informer.synced(signal);
  }

  /**
   * The first list is waited for. Where it cannot come (the kind is not served, the grant is missing) its fault is thrown:
   * whoever may not list may not get either, and a thousand objects need not find out one by one.
   *
   * @throws KubeError
   */
  async get(namespace: string | undefined, name: string, signal: AbortSignal): Promise<T | undefined> {
    const ref = this.refOf(namespace, name);
    if (!this.#isSynced && this.#isRunning) await this.#firstTry.promise;
    if (!this.#isSynced && this.#fault !== undefined) throw this.#fault;
    if (!this.#isSynced) return await this.#deps.api.get<T>(ref, signal);
    return this.newest(namespace, name);
  }

  /** As far as it is known, without asking the server. */
  newest(namespace: string | undefined, name: string): T | undefined {
    const { version } = this.#informer;
    return this.#fresh.newest(this.refOf(namespace, name), { object: this.#informer.get(namespace, name), version });
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
