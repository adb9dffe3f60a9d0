import type { KubeObject } from '../resources/kube-object.ts';
import { KubeError, type KindRef, type WatchEvent } from './cluster-api.ts';
import { ANSWER_UNREADABLE, CONNECTION_FAILED, faultOfStatus, isStatus, TIMED_OUT } from './kube-fault.ts';
import { openStream, type RequestDeps } from './kube-request.ts';
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
      yield eventOf<T>(line, ask.kind, where);
    }
  } catch (error) {
    if (signal.aborted) return;
    if (dead) {
      const message = `${where}: silent ${DEAD_AFTER_MS / 1000} s after its end was due`;
      throw new KubeError(message, { status: 0, reason: TIMED_OUT });
    }
    if (error instanceof KubeError) throw error;
    const message = `${where}: ${error instanceof Error ? error.message : String(error)}`;
    throw new KubeError(message, { status: 0, reason: CONNECTION_FAILED, cause: error });
  } finally {
    signal.removeEventListener('abort', onAbort);
    stop.abort();
  }
}

function eventOf<T extends KubeObject>(line: string, kind: KindRef, where: string): WatchEvent<T> {
  const event = parse(line, where);
  const object = event['object'];
  if (event['type'] === 'ERROR') {
    if (isStatus(object)) throw faultOfStatus(object, 500, where);
    throw unreadable(where, line);
  }
  if (typeof object !== 'object' || object === null || !hasMetadata(object)) throw unreadable(where, line);
  const resourceVersion = object.metadata.resourceVersion;
  switch (event['type']) {
    case 'BOOKMARK':
      if (resourceVersion === undefined) throw unreadable(where, line);
      return { type: 'BOOKMARK', resourceVersion };
    case 'ADDED':
    case 'MODIFIED':
    case 'DELETED':
      return { type: event['type'], object: { ...kind, ...object } as unknown as T };
    default:
      throw unreadable(where, line);
  }
}

function parse(line: string, where: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(line);
    if (typeof value === 'object' && value !== null) return value as Record<string, unknown>;
  } catch {
    // Said below, in one way for everything that is not an event.
  }
  throw unreadable(where, line);
}

function hasMetadata(object: object): object is { metadata: { resourceVersion?: string } } {
  return 'metadata' in object && typeof object.metadata === 'object' && object.metadata !== null;
}

function unreadable(where: string, line: string): KubeError {
  return new KubeError(`${where}: not a watch event (${line.length} characters): ${line.slice(0, 40)}`, {
    status: 0,
    reason: ANSWER_UNREADABLE,
  });
}
