import type { KubeObject } from '../resources/kube-object.ts';
import { backoffMs } from '../runtime/backoff.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Logger } from '../runtime/logger.ts';
import { KubeError, type ClusterApi, type Informer, type KindRef, type WatchEvent } from './cluster-api.ts';
import { ObjectCache } from './object-cache.ts';

export interface InformerDeps {
  readonly api: ClusterApi;
  readonly kind: KindRef;
  readonly namespace?: string;
  readonly labelSelector?: string;
  /** What is kept of an object (default: all of it). */
  readonly keep?: (object: KubeObject) => KubeObject;
  /** Longest wait between two tries, in milliseconds (default 30,000). */
  readonly maxWaitMs?: number;
  /** What keeps it from listing or watching now; undefined once it watches. Told at every try. */
  readonly onHealth?: (fault: unknown) => void;
  readonly clock: Clock;
  readonly random: () => number;
  readonly logger: Logger;
}

const WAIT = { minMs: 100, maxMs: 30_000 };

/**
 * A watched set of one kind:
 *
 *     list ──► watch from its version ──cut, timeout──► watch from the last version seen
 *      ▲                 │
 *      └── 410, 404 ─────┘     (every step that failed, or brought nothing, is followed by a growing wait)
 */
export function createInformer<T extends KubeObject>(deps: InformerDeps): Informer<T> {
  const cache = new ObjectCache<T>(deps.logger);
  const wait = { ...WAIT, maxMs: deps.maxWaitMs ?? WAIT.maxMs };
  const firstList = Promise.withResolvers<void>();
  // Rejected when `run` ends before the first list; whoever waits is told, and nobody waiting is no fault.
  firstList.promise.catch(() => undefined);
  const scope = {
    ...(deps.namespace === undefined ? {} : { namespace: deps.namespace }),
    ...(deps.labelSelector === undefined ? {} : { labelSelector: deps.labelSelector }),
  };
  let version: string | undefined;
  const kept = (object: T): T => (deps.keep === undefined ? object : (deps.keep(object) as T));

  /** Whether anything came, which is what ends a row of failures. */
  const follow = async (resourceVersion: string, signal: AbortSignal): Promise<boolean> => {
    let heard = false;
    const started = deps.clock.now().getTime();
    const onOpen = (): void => deps.onHealth?.(undefined);
    const events = deps.api.watch<T>(deps.kind, { ...scope, resourceVersion, onOpen }, signal);
    for await (const event of events) {
      heard = true;
      version = take(event) ?? version;
    }
    return heard || deps.clock.now().getTime() - started > WAIT.maxMs;
  };

  const take = (event: WatchEvent<T>): string | undefined => {
    if (event.type === 'BOOKMARK') return event.resourceVersion;
    if (event.type === 'DELETED') cache.remove(event.object);
    else cache.put(kept(event.object));
    return event.object.metadata.resourceVersion;
  };

  const step = async (signal: AbortSignal): Promise<boolean> => {
    if (version !== undefined) return follow(version, signal);
    const list = await deps.api.list<T>(deps.kind, scope, signal);
    cache.replace(deps.keep === undefined ? list.items : list.items.map(kept));
    version = list.resourceVersion;
    firstList.resolve();
    return true;
  };

  return {
    async synced(signal) {
      if (signal === undefined) return firstList.promise;
      signal.throwIfAborted();
      const aborted = Promise.withResolvers<never>();
      const onAbort = (): void => aborted.reject(signal.reason);
      signal.addEventListener('abort', onAbort, { once: true });
      try {
        await Promise.race([firstList.promise, aborted.promise]);
      } finally {
        signal.removeEventListener('abort', onAbort);
      }
    },
    get version() {
      return version;
    },
    get: (namespace, name) => cache.get(namespace, name),
    list: () => cache.list(),
    onChange: (listener) => cache.listen(listener),
    async run(signal) {
      let failures = 0;
      let said = '';
      while (!signal.aborted) {
        try {
          failures = (await step(signal)) ? 0 : failures + 1;
          if (failures === 0) said = '';
        } catch (error) {
          if (signal.aborted) break;
          failures += 1;
          deps.onHealth?.(error);
          version = mustListAgain(error) ? undefined : version;
          // A server that is away for an hour is one line of the log, not one for every attempt.
          const message = error instanceof Error ? error.message : String(error);
          const level = failures > 1 && message !== said ? 'warn' : 'debug';
          if (level === 'warn') said = message;
          deps.logger[level]({ kind: deps.kind.kind, failures, problem: message }, 'watching is interrupted');
        }
        if (failures > 0) await deps.clock.sleep(backoffMs(wait, failures, deps.random), signal).catch(() => undefined);
      }
      firstList.reject(signal.reason);
    },
  };
}

/** 410: the version is too old to resume from. 404: the kind went away, and its objects with it, or will come back anew. */
function mustListAgain(error: unknown): boolean {
  return error instanceof KubeError && (error.status === 410 || error.status === 404);
}
