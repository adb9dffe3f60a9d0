import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { OfflineError } from './api-error.ts';
import { call, type Page } from './client.ts';
import { connection } from './connection.ts';
import { live, type Change } from './live.ts';

const PAGE = 200;
/** However many of ten thousand clusters report at once: what is in sight is read again so often at the most. */
const SETTLE_MS = 2000;

export interface KeyedList<T> {
  readonly rows: readonly T[];
  readonly isComplete: boolean;
  readonly isLoading: boolean;
  readonly error?: Error;
  readonly reload: () => void;
  /** The rows that are in sight: pages are loaded as these come near the end, and read again when something changed. */
  readonly see: (first: number, last: number) => void;
}

interface Loaded<T> {
  readonly path: string;
  readonly pages: readonly Page<T>[];
  readonly error?: Error;
}

/** The lists that were left, so that going back finds them as they were. */
const kept = new Map<string, Loaded<unknown>>();
const KEPT = 4;

/**
 * A list of any length, page by page as one scrolls. `path` holds its filters, without limit and cursor. A page is read again
 * from the key at which it begins; where it ends elsewhere now, those behind it are dropped and loaded when they are seen.
 */
export function useKeyedList<T>(path: string, changes: (change: Change) => boolean): KeyedList<T> {
  const [state, setState] = useState<Loaded<T>>(() => (kept.get(path) as Loaded<T> | undefined) ?? { path, pages: [] });
  const [busy, setBusy] = useState(0);
  const present = state.path === path ? state : { path, pages: [] };
  const latest = useRef<Loaded<T>>(present);
  latest.current = present;
  const seen = useRef({ first: 0, last: 0 });
  const running = useRef<{ leave: AbortController; loading: Set<number> }>({
    leave: new AbortController(),
    loading: new Set(),
  });

  const load = useCallback(
    (index: number) => {
      const { leave, loading } = running.current;
      const { pages } = latest.current;
      const cursor = index === 0 ? undefined : pages[index - 1]?.nextCursor;
      if (loading.has(index) || (index > 0 && cursor === undefined)) return;
      loading.add(index);
      setBusy((count) => count + 1);
      const joint = path.includes('?') ? '&' : '?';
      const from = cursor === undefined ? '' : `&cursor=${encodeURIComponent(cursor)}`;
      call<Page<T>>('GET', `${path}${joint}limit=${PAGE}${from}`, { signal: leave.signal })
        .then(
          (page) => setState((before) => placed(before, path, index, page)),
          (error: unknown) => {
            if (leave.signal.aborted) return;
            const failure = error instanceof Error ? error : new Error(String(error));
            setState((before) => ({ path, pages: before.path === path ? before.pages : [], error: failure }));
          },
        )
        .finally(() => {
          loading.delete(index);
          setBusy((count) => count - 1);
        });
    },
    [path],
  );

  useEffect(() => {
    const mine = { leave: new AbortController(), loading: new Set<number>() };
    running.current = mine;
    load(0);
    return () => {
      mine.leave.abort();
      keep(latest.current);
    };
  }, [path, load]);

  const look = useCallback(() => {
    const { pages } = latest.current;
    const [from, to] = [seen.current.first, seen.current.last].map((row) => Math.floor(row / PAGE));
    for (let index = from ?? 0; index <= (to ?? 0) && index < pages.length; index += 1) load(index);
    if (pages.length === 0) load(0);
  }, [load]);

  const concerns = useRef(changes);
  concerns.current = changes;
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const stop = live.subscribe((change) => {
      if (change !== undefined && !concerns.current(change)) return;
      timer ??= setTimeout(() => {
        timer = undefined;
        look();
      }, SETTLE_MS);
    });
    return () => {
      clearTimeout(timer);
      stop();
    };
  }, [look]);

  const isOffline = present.error instanceof OfflineError;
  useEffect(
    () => (isOffline ? connection.subscribe(() => connection.state().online && look()) : undefined),
    [isOffline, look],
  );

  const rows = present.pages.flatMap(({ items }) => items);
  const last = present.pages.at(-1);
  const isComplete = last !== undefined && last.nextCursor === undefined;
  const see = useCallback(
    (first: number, end: number) => {
      seen.current = { first, last: end };
      const { pages } = latest.current;
      const count = pages.reduce((sum, { items }) => sum + items.length, 0);
      if (pages.length > 0 && end >= count - PAGE / 2) load(pages.length);
    },
    [load],
  );
  // What came may not reach as far as one sees.
  useEffect(() => see(seen.current.first, seen.current.last), [rows.length, see]);

  return {
    rows,
    isComplete,
    isLoading: busy > 0,
    ...(present.error === undefined ? {} : { error: present.error }),
    reload: look,
    see,
  };
}

function placed<T>(before: Loaded<T>, path: string, index: number, page: Page<T>): Loaded<T> {
  const pages = before.path === path ? before.pages : [];
  if (index > pages.length) return before;
  const isSameEnd = pages[index]?.nextCursor === page.nextCursor;
  return { path, pages: [...pages.slice(0, index), page, ...(isSameEnd ? pages.slice(index + 1) : [])] };
}

function keep<T>(state: Loaded<T>): void {
  kept.delete(state.path);
  if (state.pages.length === 0) return;
  kept.set(state.path, { path: state.path, pages: state.pages });
  const [oldest] = kept.keys();
  if (kept.size > KEPT && oldest !== undefined) kept.delete(oldest);
}
