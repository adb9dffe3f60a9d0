import type { KubeObject } from '../resources/kube-object.ts';
import type { Clock } from '../runtime/clock.ts';
import type { JsonObject } from './json-value.ts';
import { groupVersion, resourceOf, type Kind } from './kind.ts';
import { parseRevision, selectorsOf, shownAs } from './listing.ts';
import { expired, invalid } from './status-error.ts';
import type { Storage, StoredEvent } from './storage.ts';

/** Where watch events go. `send` answers false when the client takes them too slowly. */
export interface WatchSink {
  send(event: { readonly type: string; readonly object: unknown }): boolean;
  /** Ends the response. */
  end(): void;
}

export interface WatchDeps {
  readonly storage: Storage;
  readonly clock: Clock;
  readonly bookmarkIntervalMs: number;
}

export interface WatchRequest {
  readonly kind: Kind;
  readonly namespace: string | undefined;
  readonly query: URLSearchParams;
  readonly render: (object: KubeObject) => unknown;
  readonly signal: AbortSignal;
}

/** A watch that nobody limits ends after this long, as the real server's do (30 to 60 minutes). */
const LONGEST_SECONDS = 1800;

interface Change {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly object: KubeObject;
}

/** What a change is to a watcher who sees only what its selectors match. */
function visible(event: StoredEvent, matches: (object: KubeObject) => boolean): Change | undefined {
  const { object, previous } = event;
  const before = previous !== undefined && matches(previous);
  const now = event.type !== 'DELETED' && matches(object);
  if (now) return { type: before ? 'MODIFIED' : 'ADDED', object };
  if (!before) return undefined;
  // The last state that matched, with the revision of the change.
  const metadata = { ...previous.metadata, resourceVersion: object.metadata.resourceVersion ?? '' };
  return { type: 'DELETED', object: event.type === 'DELETED' ? object : { ...previous, metadata } };
}

function startOf(deps: WatchDeps, request: WatchRequest): { readonly revision: number; readonly initial: boolean } {
  const wanted = parseRevision(request.query.get('resourceVersion'));
  const sendInitial = request.query.get('sendInitialEvents');
  if (sendInitial !== null && request.query.get('resourceVersionMatch') !== 'NotOlderThan') {
    throw invalid({ group: 'meta.k8s.io', kind: 'ListOptions' }, '', [
      {
        reason: 'FieldValueForbidden',
        field: 'resourceVersionMatch',
        detail: 'sendInitialEvents requires setting resourceVersionMatch to NotOlderThan',
      },
    ]);
  }
  if (sendInitial === 'true') return { revision: deps.storage.revision, initial: true };
  if (wanted === undefined || wanted === 0) {
    return { revision: deps.storage.revision, initial: sendInitial !== 'false' };
  }
  return { revision: wanted, initial: false };
}

/**
 * Streams the changes of a kind until the time is over, the client leaves, is too slow, or the kind goes.
 *
 * @throws StatusError 400, 422 before anything is sent; a revision that is too old is an ERROR event
 */
export function watch(deps: WatchDeps, request: WatchRequest, open: () => WatchSink): void {
  const { storage, clock } = deps;
  const { kind, namespace, query, render } = request;
  const resource = resourceOf(kind);
  const matches = selectorsOf(kind, query);
  const inScope = (object: KubeObject): boolean =>
    (namespace === undefined || object.metadata.namespace === namespace) && matches(object);
  const start = startOf(deps, request);
  const missed = start.initial ? [] : storage.since(resource, start.revision);
  const seconds = Number(query.get('timeoutSeconds') ?? 0);
  const sink = open();
  if (missed === undefined) {
    const error = expired(`too old resource version: ${start.revision} (${storage.revision})`);
    sink.send({ type: 'ERROR', object: error.toStatus() });
    sink.end();
    return;
  }
  const closing = new AbortController();
  const close = (): void => {
    if (closing.signal.aborted) return;
    closing.abort();
    unsubscribe();
    sink.end();
  };
  const send = (type: string, object: unknown): void => {
    if (!sink.send({ type, object })) close();
  };
  const forward = (event: StoredEvent): void => {
    if (event.resource === 'customresourcedefinitions.apiextensions.k8s.io' && event.type === 'DELETED') {
      if (event.object.metadata.name === resource) close();
    }
    if (event.resource !== resource || closing.signal.aborted) return;
    const change = visible(event, inScope);
    if (change !== undefined) send(change.type, render(shownAs(kind, change.object)));
  };
  const unsubscribe = storage.subscribe(forward);
  request.signal.addEventListener('abort', close, { once: true });
  if (start.initial) {
    for (const object of storage.list(resource, namespace)) {
      if (matches(object)) send('ADDED', render(shownAs(kind, object)));
    }
    if (query.get('sendInitialEvents') === 'true') send('BOOKMARK', bookmark(kind, storage.revision, true));
  }
  for (const event of missed) forward(event);
  const bookmarks = query.get('allowWatchBookmarks') === 'true';
  const pause = async (ms: number): Promise<boolean> =>
    clock.sleep(ms, closing.signal).then(
      () => !closing.signal.aborted,
      () => false,
    );
  const finish = async (): Promise<void> => {
    await pause((seconds > 0 ? seconds : LONGEST_SECONDS) * 1000);
    if (bookmarks && !closing.signal.aborted) send('BOOKMARK', bookmark(kind, storage.revision, false));
    close();
  };
  const remind = async (): Promise<void> => {
    while (await pause(deps.bookmarkIntervalMs)) send('BOOKMARK', bookmark(kind, storage.revision, false));
  };
  void finish();
  if (bookmarks) void remind();
}

function bookmark(kind: Kind, revision: number, initialEnd: boolean): JsonObject {
  const annotations = initialEnd ? { annotations: { 'k8s.io/initial-events-end': 'true' } } : {};
  return {
    kind: kind.kind,
    apiVersion: groupVersion(kind),
    metadata: { resourceVersion: String(revision), ...annotations },
  };
}
