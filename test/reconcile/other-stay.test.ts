import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { DesiredItem, Prune } from '../../src/delivery/delivery.ts';
import { syncConditions } from '../../src/reconcile/cluster/sync-conditions.ts';
import type { KubeObject } from '../../src/resources/kube-object.ts';
import { podinfo, setApplyStage, type ApplyStage } from './apply-stage.ts';
import { aPolicy, file, stone } from './manifests.ts';
import { anOperation } from '../policy/signed-approval.ts';

let stage: ApplyStage;

beforeEach(async () => {
  stage = await setApplyStage();
});
afterEach(async () => {
  await stage[Symbol.asyncDispose]();
});

function synced(report: Parameters<typeof syncConditions>[0]): string {
  const [condition] = syncConditions(report);
  return `${condition?.status} ${condition?.reason} ${condition?.message}`;
}

/** As if its file had vanished: every record that a directory could have brought. */
function allPrunes(): readonly Prune[] {
  return stage.inventory.records().map(({ sourceKey, uid }) => ({ key: sourceKey, uid }));
}

describe('a cluster that comes back to gitops', () => {
  it('removes nothing and reports nothing for files of an earlier stay that are gone', async () => {
    await stage.apply({ objects: [file(), file({ name: 'left' })] });
    stage.policy = aPolicy({ deliveryEpoch: 3 });
    stage.recording.forget();
    const report = await stage.apply({ objects: [file({ source: '3.1' })], prunes: allPrunes() });
    expect(report.removedWithoutTombstone).toEqual([]);
    expect(stage.recording.writes.filter((write) => write.startsWith('delete'))).toEqual([]);
    expect((await stage.read('left'))?.metadata.uid).toBeDefined();
    expect(synced(report)).toBe('True Applied revision rev-1 is applied (1 file)');
  });

  it('reports nothing as vanished of what jobs or the control plane brought before its file comes', async () => {
    stage.policy = aPolicy({ mode: 'pull' });
    await stage.apply({ scope: 'partial', objects: [{ ...file(), key: 'job-1' }] });
    await stage.cluster.api.apply(file({ name: 'pushed', source: '2.1' }).object, { fieldManager: 'test' });
    stage.policy = aPolicy({ deliveryEpoch: 3 });
    await stage.restart();
    const report = await stage.apply({ prunes: allPrunes() });
    expect([report.removedWithoutTombstone, report.pruned.size]).toEqual([[], 0]);
    const after = await stage.apply({ objects: [file({ source: '3.1' })] });
    expect(after.outcomes.get('apps/shop/podinfo.yaml')?.state).toBe('applied');
    expect((await stage.apply({})).removedWithoutTombstone.map(({ name }) => name)).toEqual(['podinfo']);
  });

  it('forgets what went while it was in another mode, and remembers its order', async () => {
    await stage.apply({ objects: [file({ source: '1.4' })] });
    await stage.cluster.api.delete(podinfo);
    stage.policy = aPolicy({ deliveryEpoch: 3 });
    await stage.apply({});
    expect(stage.inventory.records()).toEqual([]);
    const outcome = (await stage.apply({ objects: [file({ source: '1.4' })] })).outcomes.get('apps/shop/podinfo.yaml');
    expect(outcome).toMatchObject({ state: 'stale', isPast: true });
  });

  it('counts files of an earlier stay as no fault where nothing of this one is about their object', async () => {
    await stage.apply({ objects: [file({ name: 'left' })] });
    stage.policy = aPolicy({ deliveryEpoch: 3 });
    stage.recording.forget();
    const objects = [file({ source: '3.1' }), file({ name: 'gone', source: '1.2' }), file({ name: 'left' })];
    const report = await stage.apply({ objects });
    expect(synced(report)).toBe(
      'True Applied revision rev-1 is applied (3 files, 1 of an earlier delivery epoch, which change nothing)',
    );
    expect(report.outcomes.get('apps/shop/left.yaml')?.state).toBe('unchanged');
    expect(stage.recording.writes.filter((write) => write.startsWith('apply'))).toEqual([
      'apply ApplicationInstance shop/podinfo',
    ]);
    expect(await stage.read('gone')).toBeUndefined();
  });

  it('names a file that went back to an earlier stay while its object is of this one', async () => {
    stage.policy = aPolicy({ deliveryEpoch: 3 });
    await stage.apply({ objects: [file({ source: '3.1' })] });
    expect(synced(await stage.apply({ objects: [file({ source: '1.1' })] }))).toBe(
      'False StaleSource revision rev-1: 1 of 1 not applied: apps/shop/podinfo.yaml: StaleSource: source 1.1 is older than 3.1, which is applied',
    );
  });

  it('does not write a manifest of an earlier epoch again, edited by hand or not', async () => {
    await stage.apply({ objects: [file()] });
    stage.policy = aPolicy({ deliveryEpoch: 2 });
    await stage.cluster.api.mergePatch(podinfo, {
      spec: { suspend: true },
    });
    stage.recording.forget();
    const report = await stage.apply({ objects: [file({ spec: { suspend: false } })] });
    expect(report.outcomes.get('apps/shop/podinfo.yaml')?.state).toBe('unchanged');
    expect(stage.recording.writes.filter((write) => !write.includes('ConfigMap'))).toEqual([]);
  });

  it('goes on with a removal that an earlier epoch had asked for, and deletes for none that it had not', async () => {
    await stage.apply({ objects: [file(), file({ name: 'other' })] });
    await stage.cluster.api.mergePatch(podinfo, { metadata: { finalizers: ['test/hold'] } });
    await stage.apply({ scope: 'partial', removals: [stone()] });
    stage.policy = aPolicy({ mode: 'push', deliveryEpoch: 2 });
    stage.recording.forget();
    const late = stone({ name: 'other' });
    const report = await stage.apply({ scope: 'partial', removals: [stone(), late] });
    expect(report.outcomes.get(stone().key)?.state).toBe('deleted');
    expect(report.outcomes.get(late.key)).toMatchObject({ state: 'stale', reason: 'StaleSource' });
    expect(stage.recording.writes).toEqual([]);
  });
});

function operation(source: string): DesiredItem {
  const annotations = { 'app.service.io/source': source, 'app.service.io/intent-id': 'int-1' };
  const labels = { 'app.service.io/managed-by': 'control-plane' };
  return { key: 'operations/shop/nightly.yaml', object: anOperation({}, { annotations, labels }) };
}

describe('an operation', () => {
  const ref = { apiVersion: 'ops.service.io/v1alpha1', kind: 'Operation', namespace: 'shop', name: 'nightly' };
  const state = async (source: string): Promise<unknown> =>
    (await stage.apply({ objects: [operation(source)] })).outcomes.get('operations/shop/nightly.yaml')?.state;

  it('that was brought before and is gone is not made again, under no epoch and after a restart, and that is no fault', async () => {
    expect(await state('1.1')).toBe('applied');
    await stage.cluster.api.delete(ref);
    stage.policy = aPolicy({ deliveryEpoch: 2 });
    const report = await stage.apply({ objects: [operation('2.1')] });
    expect(report.outcomes.get('operations/shop/nightly.yaml')).toEqual({ state: 'absent' });
    expect(synced(report)).toBe('True Applied revision rev-1 is applied (1 file)');
    await stage.restart();
    expect(await state('2.1')).toBe('absent');
    expect(await stage.cluster.api.get(ref)).toBeUndefined();
    expect(await state('2.2')).toBe('applied');
  });

  it('that is there is given its new order and nothing else', async () => {
    await state('1.1');
    const before = await stage.cluster.api.get<KubeObject>(ref);
    stage.policy = aPolicy({ deliveryEpoch: 2 });
    expect(await state('2.1')).toBe('applied');
    const after = await stage.cluster.api.get<KubeObject>(ref);
    expect([after?.metadata.uid, after?.metadata.generation]).toEqual([
      before?.metadata.uid,
      before?.metadata.generation,
    ]);
    expect(after?.metadata.annotations?.['app.service.io/source']).toBe('2.1');
  });
});
