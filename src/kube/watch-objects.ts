import type { KubeObject } from '../resources/kube-object.ts';
import { KubeError, type KindRef, type WatchEvent } from './cluster-api.ts';
import { ANSWER_UNREADABLE, faultOfStatus, isStatus, TIMED_OUT, type CleanText } from './kube-fault.ts';
import { connectionFailed, openStream, type RequestDeps } from './kube-request.ts';
import { watchLines } from './watch-lines.ts';

/** The server is asked to end the watch in time; when it has not by then, its connection is dead. */
export const DEAD_AFTER_MS = 15_000;

/**
 * Reads one watch. Ends when the server ends it or `signal` aborts; throws for an ERROR event (410 when the version is
 * too old), for a broken connection and for one that has outlived its time.
 */
export async function* watchObjects<T extends KubeObject>(
  deps: RequestDeps,
  ask: {
    readonly kind: KindRef;
    readonly path: string;
    readonly timeoutSeconds: number;
    readonly onOpen?: () => void;
  },
  signal: AbortSignal,
): AsyncIterable<WatchEvent<T>> {
  if (signal.aborted) return;
  const where = `watch ${deps.credentials.server}${ask.path.replace(/\?.*$/, '')}`;
  const stop = new AbortController();
  const onAbort = (): void => stop.abort();
  signal.addEventListener('abort', onAbort, { once: true });
  let dead = false;
  deps.clock.sleep(ask.timeoutSeconds * 1000 + DEAD_AFTER_MS, stop.signal).then(
    () => {
      dead = true;
      stop.abort();
    },
    () => undefined,
  );
  try {
    const body = await openStream(deps, { method: 'GET', path: ask.path }, stop.signal);
    ask.onOpen?.();
    for await (const line of watchLines(body, where)) {
      yield eventOf<T>(line, ask.kind, { where, clean: (text) => deps.credentials.clean(text) });
    }
  } catch (error) {
    if (signal.aborted) return;
    if (dead) {
      const message = `${where}: silent ${DEAD_AFTER_MS / 1000} s after its end was due`;
      throw new KubeError(message, { status: 0, reason: TIMED_OUT });
    }
    if (error instanceof KubeError) throw error;
    throw connectionFailed(deps, where, error);
  } finally {
    signal.removeEventListener('abort', onAbort);
    stop.abort();
  }
}

/** Where a line comes from, and what makes a text of it fit to be shown. */
interface Origin {
  readonly where: string;
  readonly clean: CleanText;
}

function eventOf<T extends KubeObject>(line: string, kind: KindRef, from: Origin): WatchEvent<T> {
  const event = parse(line, from);
  const object = event['object'];
  if (event['type'] === 'ERROR') {
    if (isStatus(object)) throw faultOfStatus(object, 500, from.where, from);
    throw unreadable(from, line);
  }
  if (typeof object !== 'object' || object === null || !hasMetadata(object)) throw unreadable(from, line);
  const resourceVersion = object.metadata.resourceVersion;
  switch (event['type']) {
    case 'BOOKMARK':
      if (resourceVersion === undefined) throw unreadable(from, line);
      return { type: 'BOOKMARK', resourceVersion };
    case 'ADDED':
    case 'MODIFIED':
    case 'DELETED':
      return { type: event['type'], object: { ...kind, ...object } as unknown as T };
    default:
      throw unreadable(from, line);
  }
}

function parse(line: string, from: Origin): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(line);
    if (typeof value === 'object' && value !== null) return value as Record<string, unknown>;
  } catch {
    // Said below, in one way for everything that is not an event.
  }
  throw unreadable(from, line);
}

function hasMetadata(object: object): object is { metadata: { resourceVersion?: string } } {
  return 'metadata' in object && typeof object.metadata === 'object' && object.metadata !== null;
}

function unreadable({ where, clean }: Origin, line: string): KubeError {
  return new KubeError(`${where}: not a watch event (${line.length} characters): ${clean(line).slice(0, 40)}`, {
    status: 0,
    reason: ANSWER_UNREADABLE,
  });
}
