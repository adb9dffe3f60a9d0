import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ClusterApi, Informer } from '../../src/kube/cluster-api.ts';
import { connectCluster } from '../../src/kube/connect-cluster.ts';
import { createInformer } from '../../src/kube/informer.ts';
import type { KubeObject } from '../../src/resources/kube-object.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { createLogger } from '../../src/runtime/logger.ts';
import { startSandbox, type Sandbox } from '../../src/sandbox/start-sandbox.ts';

const KIND = { apiVersion: 'v1', kind: 'ConfigMap' } as const;
const logger = createLogger('test', 'silent');

let sandbox: Sandbox;
let api: ClusterApi & AsyncDisposable;
let stop: AbortController;
let running: Promise<void>[];

beforeEach(async () => {
  sandbox = await startSandbox({ bookmarkIntervalMs: 10 });
  const kubeconfig = { kind: 'text', yaml: sandbox.kubeconfig() } as const;
  api = connectCluster({ kubeconfig, userAgent: 'test', clock: systemClock, random: Math.random });
  stop = new AbortController();
  running = [];
});

afterEach(async () => {
  stop.abort();
  await Promise.all(running);
  await api[Symbol.asyncDispose]();
  await sandbox[Symbol.asyncDispose]();
});

interface Watched {
  readonly informer: Informer<KubeObject>;
  /** `+a`, `~a=2`, `-a` in the order of the calls. */
  readonly log: string[];
  readonly until: (entry: string) => Promise<void>;
}

function watch(options: { labelSelector?: string; over?: ClusterApi } = {}): Watched {
  const log: string[] = [];
  const bells: (() => void)[] = [];
  const selector = options.labelSelector === undefined ? {} : { labelSelector: options.labelSelector };
  const informer = createInformer({
    api: options.over ?? api,
    kind: KIND,
    namespace: 'default',
    ...selector,
    clock: systemClock,
    random: () => 0,
    logger,
  });
  informer.onChange(() => {
    throw new Error('a broken listener');
  });
  informer.onChange((before, after) => {
    const name = (after ?? before)?.metadata.name ?? '';
    const value = (after?.['data'] as { v?: string } | undefined)?.v ?? '';
    log.push(after === undefined ? `-${name}` : before === undefined ? `+${name}=${value}` : `~${name}=${value}`);
    for (const bell of bells) bell();
  });
  running.push(informer.run(stop.signal));
  return {
    informer,
    log,
    async until(entry) {
      while (!log.includes(entry)) {
        const { promise, resolve } = Promise.withResolvers<void>();
        bells.push(resolve);
        await promise;
      }
    },
  };
}

async function put(name: string, v: string, labels: Record<string, string> = {}): Promise<void> {
  const metadata = { name, namespace: 'default', labels };
  await api.apply({ ...KIND, metadata, data: { v } }, { fieldManager: 'test', force: true });
}

async function remove(name: string): Promise<void> {
  await api.delete({ ...KIND, namespace: 'default', name });
}

/** Counts, and lets through. */
function counting(): { readonly over: ClusterApi; readonly lists: () => number; readonly watches: () => string[] } {
  let lists = 0;
  const watches: string[] = [];
  const over: ClusterApi = {
    ...api,
    async list(kind, options, signal) {
      lists += 1;
      return api.list(kind, options, signal);
    },
    watch(kind, options, signal) {
      watches.push(options.resourceVersion);
      return api.watch(kind, options, signal);
    },
  };
  return { over, lists: () => lists, watches: () => watches };
}

describe('an informer', () => {
  it('tells of the first list and of every change, whatever another listener does', async () => {
    await put('a', '1');
    const { informer, log, until } = watch();
    await informer.synced();
    expect(log).toEqual(['+a=1']);
    await put('b', '1');
    await put('a', '2');
    await remove('b');
    await until('-b');
    expect(log).toEqual(['+a=1', '+b=1', '~a=2', '-b']);
    expect(informer.list().map((object) => object.metadata.name)).toEqual(['a']);
    expect(informer.get('default', 'a')).toMatchObject({ ...KIND, data: { v: '2' } });
    expect(informer.get('default', 'b')).toBeUndefined();
  });

  it('tells a late listener of what is there', async () => {
    await put('a', '1');
    const { informer } = watch();
    await informer.synced();
    const late: unknown[] = [];
    informer.onChange((before, after) => late.push([before, after?.metadata.name]));
    expect(late).toEqual([[undefined, 'a']]);
  });

  it('takes an object that loses its label for deleted', async () => {
    await put('a', '1', { app: 'x' });
    await put('b', '1');
    const { informer, log, until } = watch({ labelSelector: 'app=x' });
    await informer.synced();
    await put('a', '1');
    await until('-a');
    expect(log).toEqual(['+a=1', '-a']);
  });

  it('goes on after a cut where it was, without listing again', async () => {
    await put('a', '1');
    const { over, lists, watches } = counting();
    const { informer, log, until } = watch({ over });
    await informer.synced();
    await put('a', '2');
    await until('~a=2');
    const version = informer.get('default', 'a')?.metadata.resourceVersion ?? '';
    sandbox.cutConnections();
    await put('a', '3');
    await until('~a=3');
    expect(log).toEqual(['+a=1', '~a=2', '~a=3']);
    expect(lists()).toBe(1);
    expect(Number(watches()[1])).toBeGreaterThanOrEqual(Number(version));
  });

  it('resumes from a bookmark, so that history it never needed may be forgotten', async () => {
    const { over, lists } = counting();
    const { informer, until } = watch({ over });
    await informer.synced();
    // Another resource's changes move the version on; only bookmarks tell this watch of them.
    await api.create({ apiVersion: 'v1', kind: 'Secret', metadata: { name: 's', namespace: 'default' } }, 'test');
    await put('a', '1');
    await until('+a=1');
    sandbox.cutConnections();
    await put('a', '2');
    await until('~a=2');
    expect(lists()).toBe(1);
  });

  it('lists again when its version is too old, and finds out what was deleted meanwhile', async () => {
    await put('a', '1');
    await put('b', '1');
    await put('c', '1');
    const { over, lists } = counting();
    const { informer, log, until } = watch({ over });
    await informer.synced();
    const blocked = sandbox.faults.add({ match: ({ watch }) => watch, cut: 'before' });
    sandbox.cutConnections();
    await remove('a');
    await put('b', '2');
    await remove('c');
    await put('c', '9');
    sandbox.compact();
    blocked();
    await until('~b=2');
    await until('+c=9');
    expect(log).toEqual(['+a=1', '+b=1', '+c=1', '-a', '~b=2', '-c', '+c=9']);
    expect(lists()).toBe(2);
  });

  it('says nothing of a list that brings nothing new', async () => {
    await put('a', '1');
    const { over, lists } = counting();
    const { informer, log, until } = watch({ over });
    await informer.synced();
    const blocked = sandbox.faults.add({ match: ({ watch }) => watch, cut: 'before' });
    sandbox.cutConnections();
    await api.create({ apiVersion: 'v1', kind: 'Secret', metadata: { name: 's', namespace: 'default' } }, 'test');
    sandbox.compact();
    blocked();
    await put('z', '1');
    await until('+z=1');
    expect(log).toEqual(['+a=1', '+z=1']);
    expect(lists()).toBe(2);
  });

  it('comes up although the server fails at first', async () => {
    await put('a', '1');
    const respond = { status: 403, body: 'not yet' };
    sandbox.faults.add({ match: ({ path }) => path.endsWith('/configmaps'), times: 2, respond });
    const { informer, log } = watch();
    await informer.synced();
    expect(log).toEqual(['+a=1']);
  });

  it('does not leave its waiters hanging when it is stopped before its first list', async () => {
    sandbox.faults.add({ match: () => true, respond: { status: 403, body: 'no' } });
    const { informer } = watch();
    const impatient = new AbortController();
    const waiting = informer.synced(impatient.signal);
    impatient.abort(new Error('enough'));
    await expect(waiting).rejects.toThrow('enough');
    const hanging = informer.synced();
    stop.abort(new Error('stopping'));
    await expect(hanging).rejects.toThrow('stopping');
  });
});
