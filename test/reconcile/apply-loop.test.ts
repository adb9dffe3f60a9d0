import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { DesiredSet } from '../../src/delivery/delivery.ts';
import type { StatusChange } from '../../src/events/report/reporter.ts';
import { KubeError } from '../../src/kube/cluster-api.ts';
import type { ClusterPolicy } from '../../src/reconcile/cluster-policy.ts';
import { createApplyLoop } from '../../src/reconcile/apply-loop.ts';
import { Inventory } from '../../src/reconcile/inventory.ts';
import type { ApplicationInstance } from '../../src/resources/application-instance.ts';
import { refOf, type KubeObject } from '../../src/resources/kube-object.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { anInstance, aNamespace, aPolicy, CLUSTER_ID, file, stone } from './manifests.ts';
import { RecordingApi } from './recording-api.ts';
import { logger, startTestCluster, type TestCluster } from './test-cluster.ts';

let cluster: TestCluster;
let recording: RecordingApi;
let inventory: Inventory;
let reported: StatusChange[];
let policy: ClusterPolicy;
const signal = new AbortController().signal;
const podinfo = refOf(anInstance());

beforeEach(async () => {
  cluster = await startTestCluster();
  policy = aPolicy();
  await restart();
});
afterEach(async () => {
  await cluster[Symbol.asyncDispose]();
});

/** A new operator process on the same cluster. */
async function restart(): Promise<void> {
  recording = new RecordingApi(cluster.api);
  inventory = new Inventory({ api: recording.api, logger, clusterId: () => CLUSTER_ID });
  await inventory.load(signal);
  reported = [];
  recording.forget();
}

async function apply(set: Partial<DesiredSet>) {
  const reporter = { statusChanged: (change: StatusChange) => void reported.push(change) };
  const api = recording.api;
  const loop = createApplyLoop({ api, inventory, reporter, clock: systemClock, logger, policy: () => policy });
  const whole = { revision: 'rev-1', scope: 'complete', objects: [], removals: [], faults: [], ...set } as const;
  return await loop.apply(whole, signal);
}

async function read(name = 'podinfo'): Promise<ApplicationInstance | undefined> {
  return await cluster.api.get<ApplicationInstance>({ ...podinfo, name });
}

describe('the apply loop', () => {
  it('applies under its field manager, with both labels, and keeps an inventory by UID', async () => {
    const report = await apply({ objects: [file()] });
    expect(report).toEqual({
      revision: 'rev-1',
      outcomes: new Map([['apps/shop/podinfo.yaml', { state: 'applied' }]]),
      removals: new Set(),
      removedWithoutTombstone: [],
      faults: [],
      retryable: false,
    });
    const live = await read();
    expect(live?.metadata.managedFields?.map(({ manager, operation }) => `${manager} ${operation}`)).toEqual([
      'service-operator Apply',
    ]);
    const stored = await cluster.api.get<KubeObject & { data: Record<string, string> }>({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      namespace: 'service-system',
      name: 'service-operator-inventory',
    });
    expect(stored?.metadata.labels).toEqual({
      'app.service.io/managed-by': 'control-plane',
      'app.service.io/cluster-id': CLUSTER_ID,
    });
    const uid = live?.metadata.uid ?? '';
    expect(JSON.parse(stored?.data[uid] ?? '')).toMatchObject({
      apiVersion: 'apps.service.io/v1alpha1',
      kind: 'ApplicationInstance',
      namespace: 'shop',
      name: 'podinfo',
      uid,
      epoch: 1,
      generation: 1,
      intentId: 'int-1',
      sourceKey: 'apps/shop/podinfo.yaml',
      mode: 'gitops',
      revision: 'rev-1',
    });
  });

  it('writes nothing in a second pass with nothing new, nor after a restart', async () => {
    const set = { objects: [file(), file({ name: 'other' })], removals: [stone({ name: 'gone' })] };
    await apply(set);
    for (const turn of ['the same process', 'a new process']) {
      if (turn === 'a new process') await restart();
      recording.forget();
      const report = await apply({ ...set, revision: 'rev-2' });
      expect([turn, recording.writes]).toEqual([turn, []]);
      expect([...report.outcomes.values()].map(({ state }) => state)).toEqual(['absent', 'unchanged', 'unchanged']);
    }
  });

  it('goes on past every bad item and says what is wrong with each', async () => {
    await cluster.api.create(aNamespace('bare', { labels: {} }), 'test');
    policy = aPolicy({ allowedNamespaces: ['shop', 'bare', 'missing'] });
    const message = 'ApplicationInstance "broken" is invalid: spec.upgrade.retries: must be an integer';
    cluster.sandbox.faults.add({
      match: ({ method, path }) => method === 'PATCH' && path.endsWith('/broken'),
      respond: { status: 422, body: JSON.stringify({ kind: 'Status', code: 422, reason: 'Invalid', message }) },
    });
    const report = await apply({
      objects: [
        file({ namespace: 'bank' }),
        file({ namespace: 'bare' }),
        file({ name: 'broken' }),
        file({ namespace: 'missing' }),
        file(),
      ],
      faults: [{ key: 'apps/shop/nonsense.yaml', reason: 'ManifestInvalid', message: 'not YAML' }],
    });
    const outcomes = Object.fromEntries(report.outcomes);
    expect(outcomes['apps/shop/podinfo.yaml']).toEqual({ state: 'applied' });
    expect(outcomes['apps/bank/podinfo.yaml']).toMatchObject({ state: 'refused', reason: 'NamespaceNotAllowed' });
    expect(outcomes['apps/bare/podinfo.yaml']).toMatchObject({ state: 'refused', reason: 'NamespaceNotAllowed' });
    expect(outcomes['apps/missing/podinfo.yaml']).toMatchObject({ state: 'failed', reason: 'ApplyFailed' });
    const refusal = { state: 'failed', reason: 'ApplyFailed', message: `${message} (422 Invalid)` };
    expect(outcomes['apps/shop/broken.yaml']).toEqual(refusal);
    expect(report.retryable).toBe(true);
    expect(report.faults).toHaveLength(1);
    expect(report.removedWithoutTombstone).toEqual([]);
  });

  it('names field manager and field path of a conflict, and writes nothing over them', async () => {
    await apply({ objects: [file()] });
    await cluster.api.apply(
      { ...podinfo, metadata: { name: 'podinfo', namespace: 'shop' }, spec: { chart: { version: '6.5.4' } } },
      { fieldManager: 'kubectl', force: true },
    );
    const report = await apply({ objects: [file({ source: '1.2', version: '6.6.1' })] });
    expect(report.outcomes.get('apps/shop/podinfo.yaml')).toEqual({
      state: 'conflict',
      reason: 'ApplyConflict',
      message: 'field manager "kubectl" owns .spec.chart.version',
    });
    expect((await read())?.spec.chart.version).toBe('6.5.4');
  });

  it('keeps the newer object against a stale manifest, and against one that a tombstone has outlived', async () => {
    await apply({ objects: [file({ source: '1.5', version: '6.6.1' })] });
    const late = await apply({ objects: [file({ source: '1.4' })] });
    expect(late.outcomes.get('apps/shop/podinfo.yaml')?.state).toBe('stale');
    expect((await read())?.spec.chart.version).toBe('6.6.1');

    await apply({ removals: [stone()] });
    expect(await read()).toBeUndefined();
    await restart();
    const back = await apply({ objects: [file({ source: '1.5' })] });
    expect(back.outcomes.get('apps/shop/podinfo.yaml')?.state).toBe('stale');
    expect(await read()).toBeUndefined();
    const anew = await apply({ objects: [file({ source: '1.10' })] });
    expect(anew.outcomes.get('apps/shop/podinfo.yaml')).toEqual({ state: 'applied' });
  });

  it('annotates what a tombstone names and deletes that incarnation, and never what it does not manage', async () => {
    await apply({ objects: [file()] });
    const own = await read();
    await cluster.api.mergePatch(podinfo, { metadata: { finalizers: ['test/hold'] } });
    await cluster.api.create(anInstance({ name: 'handmade' }), 'test');
    await cluster.api.mergePatch({ ...podinfo, name: 'handmade' }, { metadata: { labels: null } });
    recording.forget();
    const report = await apply({ removals: [stone(), stone({ name: 'handmade' })] });
    expect(Object.fromEntries(report.outcomes)).toMatchObject({
      'tombstones/shop/podinfo.json': { state: 'deleted' },
      'tombstones/shop/handmade.json': { state: 'refused', reason: 'ManifestRefused' },
    });
    const live = await read();
    expect(live?.metadata).toMatchObject({ uid: own?.metadata.uid, deletionTimestamp: expect.any(String) });
    expect(live?.metadata.annotations?.['app.service.io/tombstone']).toBe('int-9');
    expect(await read('handmade')).toBeDefined();
    recording.forget();
    await apply({ removals: [stone(), stone({ name: 'handmade' })] });
    expect(recording.writes).toEqual([]);
  });

  it('reports an uninstall whose object is not there, once', async () => {
    await apply({ removals: [stone({ uid: 'uid-7' })] });
    expect(reported).toMatchObject([
      {
        ref: { kind: 'ApplicationInstance', namespace: 'shop', name: 'podinfo', uid: 'uid-7' },
        before: [],
        after: [{ type: 'Ready', status: 'False', reason: 'Uninstalled' }],
        source: { mode: 'gitops', epoch: 1, generation: 9, intentId: 'int-9', revision: 'rev-1' },
      },
    ]);
    await apply({ removals: [stone({ uid: 'uid-7' })] });
    await restart();
    await apply({ removals: [stone({ uid: 'uid-7' })] });
    expect(reported).toEqual([]);
  });

  it('keeps and lists an object whose file is gone and whose tombstone is about another incarnation or an older one', async () => {
    await apply({ objects: [file()] });
    for (const tombstone of [stone({ uid: 'another-uid' }), stone({ generation: 1 })]) {
      const report = await apply({ removals: [tombstone] });
      expect(report.outcomes.get('tombstones/shop/podinfo.json')?.state).toBe('stale');
      expect(report.removedWithoutTombstone.map(({ name }) => name)).toEqual(['podinfo']);
    }
    expect(await read()).toBeDefined();
  });

  it('keeps and lists what vanished from a complete source, until the file or the end of the object', async () => {
    await apply({ objects: [file(), file({ name: 'other' })] });
    expect((await apply({})).removedWithoutTombstone.map(({ name }) => name)).toEqual(['other', 'podinfo']);
    expect((await apply({ scope: 'partial' })).removedWithoutTombstone).toEqual([]);
    expect((await apply({ objects: [file()] })).removedWithoutTombstone.map(({ name }) => name)).toEqual(['other']);
    const faults = [{ key: 'apps/shop/other.yaml', reason: 'ManifestInvalid', message: 'not YAML' }];
    expect((await apply({ objects: [file()], faults })).removedWithoutTombstone).toEqual([]);
    await cluster.api.delete({ ...podinfo, name: 'other' });
    expect((await apply({ objects: [file()] })).removedWithoutTombstone).toEqual([]);
    expect(await read()).toBeDefined();
  });

  it('rebuilds a lost inventory from labels, deletes nothing, and still knows what vanished', async () => {
    await apply({ objects: [file()] });
    await cluster.api.delete({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      namespace: 'service-system',
      name: 'service-operator-inventory',
    });
    await restart();
    expect((await apply({})).removedWithoutTombstone).toEqual([podinfo]);
    expect(recording.writes.filter((write) => write.startsWith('delete'))).toEqual([]);
  });

  it('takes the newer of two files that name one object, and names the other', async () => {
    const twin = { key: 'apps/shop/copy.yaml', object: anInstance({ source: '1.2', version: '6.6.1' }) };
    const report = await apply({ objects: [file(), twin] });
    expect(Object.fromEntries(report.outcomes)).toEqual({
      'apps/shop/podinfo.yaml': {
        state: 'failed',
        reason: 'ManifestRefused',
        message: 'apps/shop/copy.yaml names the same object; keep one of the two',
      },
      'apps/shop/copy.yaml': { state: 'applied' },
    });
  });

  it('reads a large set by lists, and finds each object in them', async () => {
    const objects = Array.from({ length: 30 }, (_, index) => file({ name: `app-${index}` }));
    await apply({ objects });
    recording.forget();
    const report = await apply({ objects });
    expect(new Set([...report.outcomes.values()].map(({ state }) => state))).toEqual(new Set(['unchanged']));
    expect(recording.calls.map(({ verb, about }) => `${verb} ${about}`)).toEqual([
      'list ApplicationInstance',
      'get Namespace shop',
    ]);
  });

  it('does not wait out every item once the API server is gone', async () => {
    const gone = async (): Promise<never> => {
      throw new KubeError('connection refused', { status: 0, reason: 'ConnectionFailed' });
    };
    recording.api.get = gone;
    const objects = Array.from({ length: 15 }, (_, index) => file({ name: `app-${index}` }));
    const report = await apply({ objects });
    expect(report.retryable).toBe(true);
    const said = [...report.outcomes.values()].map((outcome) =>
      'message' in outcome ? outcome.message : outcome.state,
    );
    expect(said.filter((message) => message.endsWith('not tried in this pass')).length).toBeGreaterThan(0);
    expect(said.every((message) => message.startsWith('the API server does not answer'))).toBe(true);
  });

  it('reads anew and goes on when the object changes under its write', async () => {
    await apply({ objects: [file()] });
    cluster.sandbox.faults.add({
      match: ({ method, path }) => method === 'PATCH' && path.endsWith('/podinfo'),
      times: 1,
      respond: {
        status: 409,
        body: JSON.stringify({
          kind: 'Status',
          code: 409,
          reason: 'Conflict',
          message: 'the object has been modified',
        }),
      },
    });
    const report = await apply({ objects: [file({ source: '1.2', version: '6.6.1' })] });
    expect(report.outcomes.get('apps/shop/podinfo.yaml')).toEqual({ state: 'applied' });
    expect(recording.writes.filter((write) => write === 'apply ApplicationInstance shop/podinfo')).toHaveLength(3);
    expect((await read())?.spec.chart.version).toBe('6.6.1');
  });

  it('ends up the same wherever it is killed', async () => {
    await apply({ objects: [file({ source: '1.1' }), file({ name: 'old' })] });
    const uid = (await read())?.metadata.uid;
    const set = { objects: [file({ source: '1.2', version: '6.6.1' })], removals: [stone({ name: 'old' })] };
    let died = true;
    for (let after = 0; died; after += 1) {
      await restart();
      died = false;
      let left = after;
      recording.beforeWrite = () => {
        left -= 1;
        if (left >= 0) return;
        died = true;
        throw new Error('killed');
      };
      await apply(set).catch(() => undefined);
    }
    expect((await read())?.metadata.uid).toBe(uid);
    expect((await read())?.spec.chart.version).toBe('6.6.1');
    expect(await read('old')).toBeUndefined();
    await restart();
    await apply(set);
    expect(recording.writes).toEqual([]);
  });
});
