import { createHash } from 'node:crypto';
import type { KubeObject } from '../resources/kube-object.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Logger } from '../runtime/logger.ts';
import type { ClusterApi } from './cluster-api.ts';

/** One line of `kubectl describe`, under "Events". */
export interface KubeEvent {
  readonly type: 'Normal' | 'Warning';
  /** CamelCase, for machines: `ReleaseReady`. */
  readonly reason: string;
  readonly message: string;
}

export interface KubeEventRecorder extends AsyncDisposable {
  /** Queues an event; never throws, never waits. The same event again raises a count on the first. */
  record(about: KubeObject, event: KubeEvent): void;
  /** Resolves when everything recorded so far was sent or given up. */
  flush(): Promise<void>;
  /** Events that were given up, since the start: the queue was full, or the server refused. */
  readonly dropped: number;
}

interface Sent {
  readonly namespace: string;
  readonly name: string;
  readonly count: number;
  readonly at: number;
}

/** Waiting to be sent. Events are best effort: the oldest give way. */
const MAX_PENDING = 200;
/** Remembered for counting; the least lately seen are forgotten, and start a new event. */
const MAX_REMEMBERED = 1_000;
/** The same event after a longer pause is a new one. The server keeps events for an hour. */
const COUNT_WITHIN_MS = 10 * 60_000;
const MAX_MESSAGE = 1_024;

/** Records core/v1 Events about objects, in the objects' own namespaces, one request at a time. */
export function createKubeEventRecorder(deps: {
  readonly api: ClusterApi;
  readonly component: string;
  readonly clock: Clock;
  readonly logger: Logger;
}): KubeEventRecorder {
  const pending: { readonly about: KubeObject; readonly event: KubeEvent; readonly at: Date }[] = [];
  const sent = new Map<string, Sent>();
  const stop = new AbortController();
  let dropped = 0;
  let sending: Promise<void> | undefined;

  const send = async (about: KubeObject, event: KubeEvent, at: Date): Promise<void> => {
    const key = keyOf(about, event);
    const earlier = sent.get(key);
    sent.delete(key);
    let now: Sent;
    if (earlier !== undefined && at.getTime() - earlier.at < COUNT_WITHIN_MS) {
      now = { ...earlier, count: earlier.count + 1, at: at.getTime() };
      const ref = { apiVersion: 'v1', kind: 'Event', namespace: now.namespace, name: now.name };
      const patch = { count: now.count, lastTimestamp: at.toISOString() };
      await deps.api.mergePatch(ref, patch, { fieldManager: deps.component }, stop.signal);
    } else {
      const made = eventObject(about, event, at, key, deps.component);
      now = { namespace: made.metadata.namespace ?? 'default', name: made.metadata.name, count: 1, at: at.getTime() };
      await deps.api.create(made, deps.component, stop.signal);
    }
    sent.set(key, now);
    const oldest = sent.keys().next();
    if (sent.size > MAX_REMEMBERED && oldest.done !== true) sent.delete(oldest.value);
  };

  const sendAll = async (): Promise<void> => {
    for (let next = pending.shift(); next !== undefined; next = pending.shift()) {
      try {
        await send(next.about, next.event, next.at);
      } catch (error) {
        dropped += 1;
        deps.logger.debug({ err: error, reason: next.event.reason }, 'a cluster event was not recorded');
      }
    }
  };

  const start = (): void => {
    sending ??= sendAll().finally(() => {
      sending = undefined;
      // Recorded in the moment between the last look and now.
      if (pending.length > 0) start();
    });
  };
  const idle = async (): Promise<void> => {
    if (sending === undefined) return;
    await sending;
    await idle();
  };

  return {
    record(about, event) {
      if (stop.signal.aborted) return;
      if (pending.length >= MAX_PENDING) {
        pending.shift();
        dropped += 1;
      }
      pending.push({ about, event, at: deps.clock.now() });
      start();
    },
    flush: idle,
    get dropped() {
      return dropped;
    },
    async [Symbol.asyncDispose]() {
      stop.abort();
      pending.length = 0;
      await idle();
    },
  };
}

function eventObject(about: KubeObject, event: KubeEvent, at: Date, key: string, component: string): KubeObject {
  const { apiVersion, kind, metadata } = about;
  // An event about something without a namespace lives in `default`.
  const namespace = metadata.namespace ?? 'default';
  const suffix = `${at.getTime().toString(16)}${key.slice(0, 6)}`;
  const time = at.toISOString();
  return {
    apiVersion: 'v1',
    kind: 'Event',
    metadata: { name: `${metadata.name.slice(0, 200)}.${suffix}`, namespace },
    involvedObject: {
      apiVersion,
      kind,
      name: metadata.name,
      ...(metadata.namespace === undefined ? {} : { namespace: metadata.namespace }),
      ...(metadata.uid === undefined ? {} : { uid: metadata.uid }),
      ...(metadata.resourceVersion === undefined ? {} : { resourceVersion: metadata.resourceVersion }),
    },
    type: event.type,
    reason: event.reason,
    message: event.message.length > MAX_MESSAGE ? `${event.message.slice(0, MAX_MESSAGE - 1)}…` : event.message,
    source: { component },
    firstTimestamp: time,
    lastTimestamp: time,
    count: 1,
  };
}

function keyOf(about: KubeObject, event: KubeEvent): string {
  const { apiVersion, kind, metadata } = about;
  const parts = [
    apiVersion,
    kind,
    metadata.namespace,
    metadata.name,
    metadata.uid,
    event.type,
    event.reason,
    event.message,
  ];
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex');
}
