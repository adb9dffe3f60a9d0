import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import type { KubeObject } from '../../../src/resources/kube-object.ts';
import { FIELD_MANAGER } from '../../../src/resources/labels.ts';
import { asDelivered } from '../../../src/resources/managed-object.ts';
import { target } from '../../intent/podinfo-intent.ts';
import { APP, item, OPERATION, ownersOf, PushStage, type Asked, type StagedCluster } from './push-stage.ts';

const delivered = (intentId: string): object => ({
  state: 'delivered',
  intentId,
  mode: 'push',
  fieldManager: 'service-control-plane',
});
const SPEC = 'spec' as const;

/** As the operator leaves an object of another mode: applied under an earlier epoch. */
function byOperator(asked: Asked): KubeObject {
  const one = item({ epoch: 1, ...asked });
  if (one.kind !== 'apply') throw new Error('only what is applied');
  return asDelivered(one.object, target.clusterId);
}

/** What push mode writes, and what it leaves alone, on any API server. */
export function pushesManifests(start: () => Promise<StagedCluster>, startTimeoutMs: number): void {
  let stage: PushStage;
  beforeAll(async () => void (stage = await PushStage.start(start)), startTimeoutMs);
  afterAll(async () => await stage?.[Symbol.asyncDispose]());
  afterEach(() => {
    stage.afterGet = undefined;
    stage.mayWrite = () => true;
    void stage.writes;
  });

  it('makes an object with labels, pair and one owner, and writes nothing when that is repeated', async () => {
    const one = item({ name: 'fresh' });
    expect(await stage.deliver(one)).toEqual([delivered('int-1')]);
    const made = await stage.read('fresh');
    expect(made?.metadata.labels).toEqual({
      'app.service.io/managed-by': 'control-plane',
      'app.service.io/cluster-id': target.clusterId,
    });
    expect(made?.metadata.annotations).toMatchObject({
      'app.service.io/source': '2.1',
      'app.service.io/intent-id': 'int-1',
    });
    expect(Object.keys(ownersOf(made as KubeObject))).toEqual(['service-control-plane Apply']);
    expect(stage.writes).toBe(1);
    expect(await stage.deliver(one)).toEqual([delivered('int-1')]);
    expect(stage.writes).toBe(0);
    expect(await stage.read('fresh')).toEqual(made);
  });

  it('upgrades in place, and takes away what it delivered and no longer does', async () => {
    await stage.deliver(item({ name: 'upgraded', values: { replicaCount: 2, extra: 'x' } }));
    const before = await stage.read('upgraded');
    const next = item({
      name: 'upgraded',
      id: 'int-2',
      generation: 2,
      chartVersion: '6.6.0',
      values: { replicaCount: 3 },
    });
    expect(await stage.deliver(next)).toEqual([delivered('int-2')]);
    const after = await stage.read('upgraded');
    const { uid, generation = 0 } = before?.metadata ?? {};
    expect(after?.metadata).toMatchObject({ uid, generation: generation + 1 });
    expect(after?.[SPEC]).toMatchObject({ chart: { version: '6.6.0' } });
    expect((after?.[SPEC] as { values: object } | undefined)?.values).toEqual({
      replicaCount: 3,
      ui: { message: 'hello', color: '#34577c' },
    });
  });

  it('takes over from the operator: same UID, same generation, and nothing owned by both', async () => {
    const asked = { name: 'taken', values: { replicaCount: 2, extra: 'x' } };
    const before = await stage.apply(byOperator(asked), FIELD_MANAGER);
    expect(await stage.deliver(item({ ...asked, isHandover: true }))).toEqual([delivered('int-1')]);
    expect(stage.writes).toBe(2);
    const after = await stage.read('taken');
    const { uid, generation } = before.metadata;
    expect(after?.metadata).toMatchObject({ uid, generation });
    expect(after?.metadata.annotations?.['app.service.io/source']).toBe('2.1');
    expect(Object.keys(ownersOf(after as KubeObject))).toEqual(['service-control-plane Apply']);
    await stage.deliver(item({ name: 'taken', id: 'int-2', generation: 2, values: { replicaCount: 2 } }));
    expect((await stage.read('taken'))?.[SPEC]).not.toHaveProperty('values.extra');
  });

  it('refuses where somebody else owns a field, names both, and says how that is given up', async () => {
    await stage.deliver(item({ name: 'fought', id: 'int-1' }));
    const edit = { spec: { values: { replicaCount: 9 } } };
    await stage.admin.mergePatch({ ...APP, name: 'fought' }, edit, { fieldManager: 'kubectl-edit' });
    const next = item({ name: 'fought', id: 'int-2', generation: 2, values: { replicaCount: 3 } });
    const [receipt] = await stage.deliver(next);
    expect(receipt).toMatchObject({ state: 'refused', intentId: 'int-2', reason: 'ApplyConflict' });
    const { message } = receipt as { message: string };
    expect(message).toContain('field manager "kubectl-edit" owns .spec.values.replicaCount');
    const [, patch = ''] = /--type=json -p '(.*)'$/.exec(message) ?? [];
    expect((await stage.read('fought'))?.[SPEC]).toMatchObject(edit.spec);
    await stage.admin.jsonPatch({ ...APP, name: 'fought' }, JSON.parse(patch) as never);
    expect(await stage.deliver(next)).toEqual([delivered('int-2')]);
    expect((await stage.read('fought'))?.[SPEC]).toMatchObject({ values: { replicaCount: 3 } });
  });

  it('leaves alone what is newer: of a later epoch or generation', async () => {
    const early = 'int-01000000000000000000000000';
    const late = 'int-02000000000000000000000000';
    await stage.deliver(item({ name: 'newer', id: late, generation: 5, epoch: 3 }));
    const before = await stage.read('newer');
    expect(await stage.deliver(item({ name: 'newer', id: early, generation: 9, epoch: 2 }))).toEqual([
      { state: 'retry', intentId: early, message: 'source 2.9 is older than 3.5, which is applied', alone: true },
    ]);
    expect(await stage.deliver(item({ name: 'newer', id: early, generation: 4, epoch: 3 }))).toEqual([
      {
        state: 'refused',
        intentId: early,
        reason: 'Superseded',
        message: 'source 3.4 is older than 3.5, which is applied',
      },
    ]);
    // Asked for later and numbered lower: by a control plane that was restored from a backup.
    const later = 'int-03000000000000000000000000';
    expect(await stage.deliver(item({ name: 'newer', id: later, generation: 4, epoch: 3 }))).toMatchObject([
      { state: 'retry', alone: true },
    ]);
    const again = item({ name: 'newer', id: early, generation: 4, epoch: 3, isHandover: true });
    expect(await stage.deliver(again)).toEqual([delivered(early)]);
    expect(await stage.read('newer')).toEqual(before);
  });

  it('takes over nothing that a person made, and waits for what is paused', async () => {
    const { metadata, ...rest } = byOperator({ name: 'by-hand' });
    await stage.apply({ ...rest, metadata: { name: 'by-hand', namespace: 'shop' } }, 'kubectl');
    expect(await stage.deliver(item({ name: 'by-hand' }))).toMatchObject([
      { state: 'refused', reason: 'ApplyConflict', message: expect.stringContaining('kubectl label') },
    ]);
    await stage.apply({ ...rest, metadata: { ...metadata, name: 'still' } }, FIELD_MANAGER);
    const annotations = { 'ops.service.io/paused': 'true' };
    await stage.admin.mergePatch({ ...APP, name: 'still' }, { metadata: { annotations } });
    expect(await stage.deliver(item({ name: 'still' }))).toMatchObject([
      { state: 'retry', alone: true, message: expect.stringContaining('ops.service.io/paused') },
    ]);
    expect(stage.writes).toBe(0);
  });

  it('judges anew what changes between its look and its write', async () => {
    await stage.deliver(item({ name: 'raced' }));
    void stage.writes;
    stage.afterGet = async (read) => {
      if (read !== 1) return;
      await stage.apply(byOperator({ name: 'raced', id: 'int-7', generation: 7, epoch: 2 }), 'service-control-plane');
    };
    const late = item({ name: 'raced', id: 'int-2', generation: 2, chartVersion: '6.6.0' });
    expect(await stage.deliver(late)).toMatchObject([{ state: 'refused', reason: 'Superseded' }]);
    expect(stage.writes).toBe(1);
    expect((await stage.read('raced'))?.metadata.annotations?.['app.service.io/source']).toBe('2.7');
  });

  it('makes no application anew that the cluster had and that is handed over', async () => {
    const handedOver = item({ name: 'went', isHandover: true, wasApplied: true });
    expect(await stage.deliver(handedOver)).toEqual([{ ...delivered('int-1'), isAbsent: true }]);
    expect(await stage.read('went')).toBeUndefined();
  });

  it('takes no object back to a lower generation under a higher epoch', async () => {
    await stage.apply(byOperator({ name: 'later', id: 'int-7', generation: 7, epoch: 1 }), 'service-control-plane');
    const handedOver = item({ name: 'later', generation: 2, epoch: 2, isHandover: true, wasApplied: true });
    expect(await stage.deliver(handedOver)).toEqual([delivered('int-1')]);
    expect((await stage.read('later'))?.metadata.annotations?.['app.service.io/source']).toBe('1.7');
  });

  it('runs no operation a second time that was run in another mode', async () => {
    const asked = { action: 'operate' as const, name: 'backup', operationTemplate: 'velero-backup', parameters: {} };
    const ran = item({ ...asked, isHandover: true, wasApplied: true });
    expect(await stage.deliver(ran)).toEqual([delivered('int-1')]);
    expect(await stage.read('backup', OPERATION)).toBeUndefined();
    // Its receipt was lost, and the cluster told of it.
    expect(await stage.deliver(item({ ...asked, wasApplied: true }))).toEqual([delivered('int-1')]);
    expect(await stage.read('backup', OPERATION)).toBeUndefined();
    // Delivered by another way, it never reached the cluster.
    expect(await stage.deliver(item({ ...asked, isHandover: true }))).toEqual([delivered('int-1')]);
    const made = await stage.read('backup', OPERATION);
    expect(await stage.deliver(item({ ...asked, epoch: 3, isHandover: true }))).toEqual([delivered('int-1')]);
    const { uid, generation } = made?.metadata ?? {};
    expect((await stage.read('backup', OPERATION))?.metadata).toMatchObject({
      uid,
      generation,
      annotations: { 'app.service.io/source': '3.1' },
    });
  });

  it('sends no write once the cluster is of another mode or epoch, not between two of one intent either', async () => {
    const before = await stage.apply(byOperator({ name: 'fenced' }), FIELD_MANAGER);
    stage.mayWrite = () => false;
    const waiting = {
      state: 'retry',
      intentId: 'int-1',
      message: 'the cluster is not written to in push mode at delivery epoch 2 any more',
    };
    expect(await stage.deliver(item({ name: 'fenced' }), item({ name: 'other' }))).toEqual([waiting, waiting]);
    expect(await stage.read('fenced')).toEqual(before);
    let asked = 0;
    stage.mayWrite = () => (asked += 1) === 1;
    expect(await stage.deliver(item({ name: 'fenced' }))).toEqual([waiting]);
    expect((await stage.read('fenced'))?.metadata.annotations?.['app.service.io/source']).toBe('1.1');
    stage.mayWrite = () => true;
    expect(await stage.deliver(item({ name: 'fenced' }))).toEqual([delivered('int-1')]);
  });

  it('refuses what no API server would store', async () => {
    const values = { blob: 'x'.repeat(513 * 1024) };
    expect(await stage.deliver(item({ name: 'large', values }))).toMatchObject([
      { state: 'refused', reason: 'ManifestTooLarge', message: expect.stringContaining('more than 524288') },
    ]);
    expect(stage.writes).toBe(0);
  });
}
