import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { OfflineError } from './api-error.ts';
import { request } from './client.ts';
import { connection } from './connection.ts';
import { live, type Change } from './live.ts';

/** Of many changes at once, one look. */
const SETTLE_MS = 400;
/** Between two looks at what counts a whole fleet, which costs more. */
export const AGGREGATE_REST_MS = 4000;

export interface Resource<T> {
  /** What was read last; stays while it is read again and while nothing answers. */
  readonly data?: T;
  readonly tag?: string;
  /** Why the last look failed. */
  readonly error?: Error;
  readonly loading: boolean;
  readonly reload: () => void;
}

interface Read<T> {
  readonly path: string | undefined;
  readonly data?: T;
  readonly tag?: string;
  readonly error?: Error;
}

/**
 * `GET` of `path` (undefined: nothing yet), again whenever one of `changes` is told and when the control plane answers
 * again. Leaving aborts it.
 *
 * @param restMs least time between two looks for a change: the first change after a rest is seen at once
 */
export function useResource<T>(
  path: string | undefined,
  changes?: (change: Change) => boolean,
  restMs = 0,
): Resource<T> {
  const [read, setRead] = useState<Read<T>>({ path: undefined });
  const [turn, setTurn] = useState(0);
  const concerns = useRef(changes);
  concerns.current = changes;
  const reload = useCallback(() => setTurn((before) => before + 1), []);

  useEffect(() => {
    if (path === undefined) return undefined;
    const leave = new AbortController();
    request<T>('GET', path, { signal: leave.signal }).then(
      ({ body, tag }) => setRead({ path, data: body, ...(tag === undefined ? {} : { tag }) }),
      (error: unknown) => {
        if (leave.signal.aborted) return;
        const failure = error instanceof Error ? error : new Error(String(error));
        // What was read before stays on the screen while nothing answers, and only then.
        setRead((before) =>
          before.path === path && failure instanceof OfflineError
            ? { ...before, error: failure }
            : { path, error: failure },
        );
      },
    );
    return () => leave.abort();
  }, [path, turn]);

  const wants = changes !== undefined;
  useEffect(() => {
    if (!wants) return undefined;
    let timer: ReturnType<typeof setTimeout> | undefined;
    let restsUntil = performance.now() + restMs;
    const stop = live.subscribe((change) => {
      if (change !== undefined && concerns.current?.(change) !== true) return;
      timer ??= setTimeout(
        () => {
          timer = undefined;
          restsUntil = performance.now() + restMs;
          reload();
        },
        Math.max(SETTLE_MS, restsUntil - performance.now()),
      );
    });
    return () => {
      clearTimeout(timer);
      stop();
    };
  }, [wants, reload, restMs]);

  const isOffline = read.error instanceof OfflineError;
  useEffect(() => {
    if (!isOffline) return undefined;
    return connection.subscribe(() => connection.state().online && reload());
  }, [isOffline, reload]);

  const present: Read<T> = read.path === path ? read : { path };
  const { path: _path, ...known } = present;
  return { ...known, loading: present.data === undefined && present.error === undefined, reload };
}

/** Whether a change is of one of these kinds: `useResource(path, isOf('clusters', 'events'))`. */
export function isOf(...resources: readonly string[]): (change: Change) => boolean {
  return ({ resource }) => resources.includes(resource);
}
