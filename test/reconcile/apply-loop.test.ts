import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { KubeObject } from '../../src/resources/kube-object.ts';
import { type ApplyStage, podinfo, setApplyStage } from './apply-stage.ts';
import { anInstance, aNamespace, aPolicy, CLUSTER_ID, file, stone } from './manifests.ts';

let stage: ApplyStage;

beforeEach(async () => {
  stage = await setApplyStage();
});
afterEach(async () => {
  await stage[Symbol.asyncDispose]();
});

describe('the apply loop', () => {
  it('applies under its field manager, with both labels, and keeps an inventory by UID', async () => {
    const report = await stage.apply({ objects: [file()] });
    expect(report).toEqual({
      revision: 'rev-1',
      complete: true,
      outcomes: new Map([
        [
          'apps/shop/podinfo.yaml',
          { state: 'applied', ref: expect.objectContaining({ name: 'podinfo', generation: 1 }) },
        ],
      ]),
      removals: new Set(),
      pruned: new Set(),
      removedWithoutTombstone: [],
      faults: [],
      retryable: false,
    });
    const live = await stage.read();
    expect(live?.metadata.managedFields?.map(({ manager, operation }) => `${manager} ${operation}`)).toEqual([
      'service-operator Apply',
    ]);
    const stored = await stage.cluster.api.get<KubeObject & { data: Record<string, string> }>({
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
    await stage.apply(set);
    for (const turn of ['the same process', 'a new process']) {
      if (turn === 'a new process') await stage.restart();
      stage.recording.forget();
      const report = await stage.apply({ ...set, revision: 'rev-2' });
      expect([turn, stage.recording.writes]).toEqual([turn, []]);
      expect([...report.outcomes.values()].map(({ state }) => state)).toEqual(['absent', 'unchanged', 'unchanged']);
    }
  });

  it('goes on past every bad item and says what is wrong with each', async () => {
    await stage.cluster.api.create(aNamespace('bare', { labels: {} }), 'test');
    stage.policy = aPolicy({ allowedNamespaces: ['shop', 'bare', 'missing'] });
    const message = 'ApplicationInstance "broken" is invalid: spec.upgrade.retries: must be an integer';
    stage.cluster.sandbox.faults.add({
      match: ({ method, path }) => method === 'PATCH' && path.endsWith('/broken'),
      respond: { status: 422, body: JSON.stringify({ kind: 'Status', code: 422, reason: 'Invalid', message }) },
    });
    const report = await stage.apply({
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
    expect(outcomes['apps/shop/podinfo.yaml']).toMatchObject({ state: 'applied' });
    expect(outcomes['apps/bank/podinfo.yaml']).toMatchObject({ state: 'refused', reason: 'NamespaceNotAllowed' });
    expect(outcomes['apps/bare/podinfo.yaml']).toMatchObject({ state: 'refused', reason: 'NamespaceNotLabelled' });
    expect(outcomes['apps/missing/podinfo.yaml']).toMatchObject({ state: 'failed', reason: 'ApplyFailed' });
    const refusal = { state: 'failed', reason: 'ApplyFailed', message: `${message} (422 Invalid)`, isLasting: true };
    expect(outcomes['apps/shop/broken.yaml']).toEqual(refusal);
    expect(report.retryable).toBe(true);
    expect(report.faults).toHaveLength(1);
    expect(report.removedWithoutTombstone).toEqual([]);
  });

  it('names field manager and field path of a conflict, and writes nothing over them', async () => {
    await stage.apply({ objects: [file()] });
    await stage.cluster.api.apply(
      {
        apiVersion: podinfo.apiVersion,
        kind: podinfo.kind,
        metadata: { name: 'podinfo', namespace: 'shop' },
        spec: { chart: { version: '6.5.4' } },
      },
      { fieldManager: 'kubectl', force: true },
    );
    const report = await stage.apply({ objects: [file({ source: '1.2', version: '6.6.1' })] });
    expect(report.outcomes.get('apps/shop/podinfo.yaml')).toEqual({
      state: 'conflict',
      reason: 'ApplyConflict',
      message:
        'field manager "kubectl" owns .spec.chart.version; to give what is set there up for what is delivered: ' +
        "kubectl -n shop patch applicationinstance.apps.service.io podinfo --type=json -p '[" +
        '{"op":"test","path":"/metadata/managedFields/0/manager","value":"kubectl"},' +
        '{"op":"remove","path":"/metadata/managedFields/0"}]\'',
    });
    expect((await stage.read())?.spec.chart.version).toBe('6.5.4');
  });

  it('keeps the newer object against a stale manifest, and against one that a tombstone has outlived', async () => {
    await stage.apply({ objects: [file({ source: '1.5', version: '6.6.1' })] });
    const late = await stage.apply({ objects: [file({ source: '1.4' })] });
    expect(late.outcomes.get('apps/shop/podinfo.yaml')?.state).toBe('stale');
    expect((await stage.read())?.spec.chart.version).toBe('6.6.1');

    await stage.apply({ removals: [stone()] });
    expect(await stage.read()).toBeUndefined();
    await stage.restart();
    const back = await stage.apply({ objects: [file({ source: '1.5' })] });
    expect(back.outcomes.get('apps/shop/podinfo.yaml')?.state).toBe('stale');
    expect(await stage.read()).toBeUndefined();
    const anew = await stage.apply({ objects: [file({ source: '1.10' })] });
    expect(anew.outcomes.get('apps/shop/podinfo.yaml')).toMatchObject({ state: 'applied' });
  });

  it('annotates what a tombstone names and deletes that incarnation, and never what it does not manage', async () => {
    await stage.apply({ objects: [file()] });
    const own = await stage.read();
    await stage.cluster.api.mergePatch(podinfo, { metadata: { finalizers: ['test/hold'] } });
    await stage.cluster.api.create(anInstance({ name: 'handmade' }), 'test');
    await stage.cluster.api.mergePatch({ ...podinfo, name: 'handmade' }, { metadata: { labels: null } });
    stage.recording.forget();
    const report = await stage.apply({ removals: [stone(), stone({ name: 'handmade' })] });
    expect(Object.fromEntries(report.outcomes)).toMatchObject({
      'tombstones/shop/podinfo.json': { state: 'deleted' },
      'tombstones/shop/handmade.json': { state: 'refused', reason: 'ManifestRefused' },
    });
    const live = await stage.read();
    expect(live?.metadata).toMatchObject({ uid: own?.metadata.uid, deletionTimestamp: expect.any(String) });
    expect(live?.metadata.annotations?.['app.service.io/tombstone']).toBe('int-9');
    expect(await stage.read('handmade')).toBeDefined();
    stage.recording.forget();
    await stage.apply({ removals: [stone(), stone({ name: 'handmade' })] });
    expect(stage.recording.writes).toEqual([]);
  });

  it('reports an uninstall whose object is not there, once', async () => {
    await stage.apply({ removals: [stone({ uid: 'uid-7' })] });
    expect(stage.reported).toMatchObject([
      {
        ref: { kind: 'ApplicationInstance', namespace: 'shop', name: 'podinfo', uid: 'uid-7' },
        before: [],
        after: [{ type: 'Ready', status: 'False', reason: 'Uninstalled' }],
        source: { mode: 'gitops', epoch: 1, generation: 9, intentId: 'int-9', revision: 'rev-1' },
      },
    ]);
    await stage.apply({ removals: [stone({ uid: 'uid-7' })] });
    await stage.restart();
    await stage.apply({ removals: [stone({ uid: 'uid-7' })] });
    expect(stage.reported).toEqual([]);
  });

  it('keeps and lists an object whose file is gone and whose tombstone is about another incarnation or an older one', async () => {
    await stage.apply({ objects: [file()] });
    for (const tombstone of [stone({ uid: 'another-uid' }), stone({ generation: 1 })]) {
      const report = await stage.apply({ removals: [tombstone] });
      expect(report.outcomes.get('tombstones/shop/podinfo.json')?.state).toBe('stale');
      expect(report.removedWithoutTombstone.map(({ name }) => name)).toEqual(['podinfo']);
    }
    expect(await stage.read()).toBeDefined();
  });

  it('keeps and lists what vanished from a complete source, until the file or the end of the object', async () => {
    await stage.apply({ objects: [file(), file({ name: 'other' })] });
    expect((await stage.apply({})).removedWithoutTombstone.map(({ name }) => name)).toEqual(['other', 'podinfo']);
    expect((await stage.apply({ scope: 'partial' })).removedWithoutTombstone).toEqual([]);
    expect((await stage.apply({ objects: [file()] })).removedWithoutTombstone.map(({ name }) => name)).toEqual([
      'other',
    ]);
    const faults = [{ key: 'apps/shop/other.yaml', reason: 'ManifestInvalid', message: 'not YAML' }];
    expect((await stage.apply({ objects: [file()], faults })).removedWithoutTombstone).toEqual([]);
    await stage.cluster.api.delete({ ...podinfo, name: 'other' });
    expect((await stage.apply({ objects: [file()] })).removedWithoutTombstone).toEqual([]);
    expect(await stage.read()).toBeDefined();
  });

  it('rebuilds a lost inventory from labels, deletes nothing, and still knows what vanished', async () => {
    await stage.apply({ objects: [file()] });
    await stage.cluster.api.delete({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      namespace: 'service-system',
      name: 'service-operator-inventory',
    });
    await stage.restart();
    expect((await stage.apply({})).removedWithoutTombstone).toEqual([podinfo]);
    expect(stage.recording.writes.filter((write) => write.startsWith('delete'))).toEqual([]);
  });

  it('takes the newer of two files that name one object, and names the other', async () => {
    const twin = { key: 'apps/shop/copy.yaml', object: anInstance({ source: '1.2', version: '6.6.1' }) };
    const report = await stage.apply({ objects: [file(), twin] });
    expect(Object.fromEntries(report.outcomes)).toEqual({
      'apps/shop/podinfo.yaml': {
        state: 'failed',
        reason: 'ManifestRefused',
        message: 'apps/shop/copy.yaml names the same object; keep one of the two',
      },
      'apps/shop/copy.yaml': { state: 'applied', ref: expect.objectContaining({ name: 'podinfo', generation: 1 }) },
    });
  });
});
