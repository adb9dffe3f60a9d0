import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { withdrawMark } from '../../../src/kube/withdraw-mark.ts';
import type { KubeObject } from '../../../src/resources/kube-object.ts';
import { FIELD_MANAGER, META_FIELD_MANAGER } from '../../../src/resources/labels.ts';
import { asDelivered } from '../../../src/resources/managed-object.ts';
import { target } from '../../intent/podinfo-intent.ts';
import { APP, item, ownersOf, PushStage, type Asked, type StagedCluster } from './push-stage.ts';

const UNINSTALL = { action: 'uninstall', id: 'int-2', generation: 2 } as const;
const FINALIZERS = ['app.service.io/release'];

const delivered = { state: 'delivered', intentId: 'int-2', mode: 'push', fieldManager: 'service-control-plane' };

/** How push mode deletes, on any API server. */
export function pushesTombstones(start: () => Promise<StagedCluster>, startTimeoutMs: number): void {
  let stage: PushStage;
  beforeAll(async () => void (stage = await PushStage.start(start)), startTimeoutMs);
  afterAll(async () => await stage?.[Symbol.asyncDispose]());
  afterEach(() => {
    stage.afterGet = undefined;
    stage.mayWrite = () => true;
    void stage.writes;
  });

  /** Delivered, and taken on by the operator: its finalizer keeps the object until the release is gone. */
  const installed = async (asked: Asked & { readonly name: string }): Promise<KubeObject> => {
    await stage.deliver(item(asked));
    const ref = { ...APP, name: asked.name };
    const by = { fieldManager: META_FIELD_MANAGER };
    const made = await stage.admin.mergePatch<KubeObject>(ref, { metadata: { finalizers: FINALIZERS } }, by);
    void stage.writes;
    return made;
  };
  const letGo = async (name: string): Promise<void> => {
    await stage.admin.mergePatch({ ...APP, name }, { metadata: { finalizers: null } });
  };

  it('marks what it deletes with its intent and its pair, so that the operator knows the end to be meant', async () => {
    const { uid } = (await installed({ name: 'going' })).metadata;
    const end = item({ ...UNINSTALL, name: 'going', uid: uid ?? '' });
    expect(await stage.deliver(end)).toEqual([delivered]);
    expect(stage.writes).toBe(2);
    const going = await stage.read('going');
    expect(going?.metadata.deletionTimestamp).toBeDefined();
    expect(going?.metadata.annotations).toMatchObject({
      'app.service.io/tombstone': 'int-2',
      'app.service.io/tombstone-source': '2.2',
      // What the control plane's signature is over stays as it is.
      'app.service.io/source': '2.1',
      'app.service.io/intent-id': 'int-1',
    });
    expect(await stage.deliver(end)).toEqual([delivered]);
    expect(stage.writes).toBe(0);
    // The same deletion handed over from another mode: its pair is newer, and it is carried out once.
    expect(await stage.deliver(item({ ...UNINSTALL, name: 'going', epoch: 3, isHandover: true }))).toEqual([delivered]);
    expect(stage.writes).toBe(1);
    expect((await stage.read('going'))?.metadata.annotations?.['app.service.io/tombstone-source']).toBe('3.2');
    await letGo('going');
    expect(await stage.deliver(end)).toEqual([{ ...delivered, isAbsent: true }]);
  });

  it('deletes what the operator applied, and says on one that a person has deleted that it is meant', async () => {
    const one = item({ name: 'theirs', epoch: 1 });
    if (one.kind !== 'apply') throw new Error('an install');
    await stage.apply(asDelivered(one.object, target.clusterId), FIELD_MANAGER);
    expect(await stage.deliver(item({ ...UNINSTALL, name: 'theirs' }))).toEqual([delivered]);
    expect(await stage.read('theirs')).toBeUndefined();

    await installed({ name: 'by-hand' });
    await stage.admin.delete({ ...APP, name: 'by-hand' });
    expect(await stage.deliver(item({ ...UNINSTALL, name: 'by-hand' }))).toEqual([delivered]);
    expect(stage.writes).toBe(1);
    expect((await stage.read('by-hand'))?.metadata.annotations?.['app.service.io/tombstone']).toBe('int-2');
    await letGo('by-hand');
  });

  it('deletes no other incarnation, nothing newer, and nothing of somebody else', async () => {
    const { uid } = (await installed({ name: 'kept', generation: 5 })).metadata;
    expect(await stage.deliver(item({ ...UNINSTALL, name: 'kept', generation: 6, uid: 'another' }))).toEqual([
      {
        state: 'refused',
        intentId: 'int-2',
        reason: 'StaleSource',
        message: `the tombstone is for uid another; the object has been made anew since (uid ${uid})`,
      },
    ]);
    expect(await stage.deliver(item({ ...UNINSTALL, name: 'kept', generation: 4 }))).toMatchObject([
      { state: 'refused', reason: 'Superseded' },
    ]);
    await stage.admin.mergePatch(
      { ...APP, name: 'kept' },
      { metadata: { labels: { 'app.service.io/managed-by': null } } },
    );
    expect(await stage.deliver(item({ ...UNINSTALL, name: 'kept', generation: 6 }))).toMatchObject([
      { state: 'refused', reason: 'ManifestRefused' },
    ]);
    expect(stage.writes).toBe(0);
    expect((await stage.read('kept'))?.metadata.deletionTimestamp).toBeUndefined();
    await letGo('kept');
  });

  it('does not delete what came by a newer delivery between its mark and its delete', async () => {
    await installed({ name: 'overtaken' });
    let writes = 0;
    stage.mayWrite = async () => {
      writes += 1;
      if (writes !== 2) return true;
      // By the operator, after a switch of mode that has gone on meanwhile.
      const marked = (await stage.read('overtaken')) as KubeObject;
      await withdrawMark(stage.admin, marked, META_FIELD_MANAGER);
      const newer = item({ name: 'overtaken', id: 'int-1', epoch: 3 });
      if (newer.kind === 'apply')
        await stage.apply(asDelivered(newer.object, target.clusterId), 'service-control-plane');
      return true;
    };
    expect(await stage.deliver(item({ ...UNINSTALL, name: 'overtaken' }))).toMatchObject([
      { state: 'retry', alone: true, message: 'source 2.2 is older than 3.1, which is applied' },
    ]);
    expect((await stage.read('overtaken'))?.metadata.deletionTimestamp).toBeUndefined();
    await letGo('overtaken');
  });

  it('lets a mark that it left stand against nothing that is delivered later, nor outlive it', async () => {
    await installed({ name: 'raced' });
    // The mark is the first write, and the delete the second.
    let asked = 0;
    stage.mayWrite = () => (asked += 1) === 1;
    expect(await stage.deliver(item({ ...UNINSTALL, name: 'raced' }))).toMatchObject([{ state: 'retry' }]);
    stage.mayWrite = () => true;
    const marked = await stage.read('raced');
    expect(marked?.metadata.annotations?.['app.service.io/tombstone']).toBe('int-2');
    const next = item({ name: 'raced', id: 'int-3', generation: 3, chartVersion: '6.6.0' });
    expect(await stage.deliver(next)).toMatchObject([{ state: 'delivered', intentId: 'int-3' }]);
    const after = await stage.read('raced');
    expect(after?.metadata).toMatchObject({
      uid: marked?.metadata.uid,
      annotations: { 'app.service.io/source': '2.3' },
    });
    expect(after?.metadata.annotations).not.toHaveProperty(['app.service.io/tombstone']);
    expect(after?.metadata.annotations).not.toHaveProperty(['app.service.io/tombstone-source']);
    expect(Object.keys(ownersOf(after as KubeObject)).toSorted()).toEqual([
      'service-control-plane Apply',
      'service-operator-meta Update',
    ]);
    expect(await stage.deliver(item({ ...UNINSTALL, name: 'raced' }))).toMatchObject([{ reason: 'Superseded' }]);
    expect((await stage.read('raced'))?.metadata.deletionTimestamp).toBeUndefined();
    await letGo('raced');
  });

  it('makes nothing anew that the same batch uninstalls: only the receipts of both were lost', async () => {
    const first = await installed({ name: 'replayed' });
    const end = item({ ...UNINSTALL, name: 'replayed', uid: first.metadata.uid ?? '' });
    await stage.deliver(end);
    await letGo('replayed');
    expect(await stage.deliver(item({ name: 'replayed' }), end)).toEqual([
      { ...delivered, isAbsent: true },
      expect.objectContaining({ state: 'refused', intentId: 'int-1', reason: 'Superseded' }),
    ]);
    expect(await stage.read('replayed')).toBeUndefined();
  });

  it('waits with all intents of an object for the first that has to, and for none of another', async () => {
    const { uid } = (await installed({ name: 'queued' })).metadata;
    await stage.admin.delete({ ...APP, name: 'queued' });
    const receipts = await stage.deliver(
      item({ name: 'queued', id: 'int-3', generation: 3 }),
      item({ name: 'queued', id: 'int-4', generation: 4, action: 'update' }),
      item({ name: 'beside', id: 'int-5' }),
    );
    expect(receipts.map(({ intentId, state }) => `${intentId} ${state}`).toSorted()).toEqual([
      'int-3 retry',
      'int-4 retry',
      'int-5 delivered',
    ]);
    expect((await stage.read('queued'))?.metadata.uid).toBe(uid);
    await letGo('queued');
  });
}
