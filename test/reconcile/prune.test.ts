import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { DesiredSet, Prune } from '../../src/delivery/delivery.ts';
import type { ApplyReport } from '../../src/reconcile/apply-report.ts';
import { aNamespace, aPolicy, file } from './manifests.ts';
import { type ApplyStage, podinfo, setApplyStage } from './apply-stage.ts';

const KEY = 'apps/shop/podinfo.yaml';
let stage: ApplyStage;

beforeEach(async () => {
  stage = await setApplyStage();
});
afterEach(async () => {
  await stage[Symbol.asyncDispose]();
});

/** Of what is applied: the source names it as vanished. */
function named(...keys: string[]): Prune[] {
  const records = stage.inventory.records();
  return keys.map((key) => ({ key, uid: records.find(({ sourceKey }) => sourceKey === key)?.uid ?? '' }));
}

async function pruned(
  set: Partial<DesiredSet> = {},
): Promise<{ outcome: unknown; kept: string[]; report: ApplyReport }> {
  const report = await stage.apply({ prunes: named(KEY), ...set });
  return { outcome: report.outcomes.get(KEY), kept: report.removedWithoutTombstone.map(({ name }) => name), report };
}

const deletes = (): string[] => stage.recording.writes.filter((write) => write.startsWith('delete'));

describe('what the source says is to go since its file vanished', () => {
  it('is deleted by its UID, after what takes its place, and marked so that its release goes too', async () => {
    await stage.apply({ objects: [file(), file({ name: 'other' })] });
    const uid = (await stage.read())?.metadata.uid;
    await stage.cluster.api.mergePatch(podinfo, { metadata: { finalizers: ['test/hold'] } });
    stage.recording.forget();
    const { outcome, kept, report } = await pruned({ objects: [file({ name: 'other' }), file({ name: 'anew' })] });
    expect(outcome).toMatchObject({ state: 'deleted', ref: { name: 'podinfo', uid } });
    expect([kept, report.retryable]).toEqual([[], false]);
    expect(stage.recording.writes).toEqual([
      'apply ApplicationInstance shop/anew',
      'mergePatch ApplicationInstance shop/podinfo',
      'delete ApplicationInstance shop/podinfo',
      'mergePatch ConfigMap service-system/service-operator-inventory',
    ]);
    expect((await stage.read())?.metadata).toMatchObject({
      uid,
      deletionTimestamp: expect.any(String),
      annotations: { 'app.service.io/tombstone': 'pruned:rev-1' },
    });
    stage.recording.forget();
    await stage.apply({ objects: [file({ name: 'other' }), file({ name: 'anew' })], prunes: named(KEY) });
    expect(stage.recording.writes).toEqual([]);
  });

  it('comes back with its file, of the same order too', async () => {
    await stage.apply({ objects: [file()] });
    await pruned();
    expect(await stage.read()).toBeUndefined();
    expect((await stage.apply({ objects: [file()] })).outcomes.get(KEY)?.state).toBe('applied');
  });

  it('R3: stays in the inventory when admission denies it, is reported, is tried again, and goes later', async () => {
    await stage.apply({ objects: [file(), file({ name: 'other' })] });
    const message = 'admission webhook "guard.example.com" denied the request: not today';
    const restore = stage.cluster.sandbox.faults.add({
      match: ({ method }) => method === 'DELETE',
      respond: { status: 403, body: JSON.stringify({ kind: 'Status', code: 403, reason: 'Forbidden', message }) },
    });
    const objects = [file({ name: 'other' })];
    const prunes = named(KEY);
    const denied = await pruned({ objects });
    expect(denied.outcome).toMatchObject({
      state: 'failed',
      reason: 'DeleteFailed',
      message: expect.stringContaining('not today'),
    });
    expect([denied.kept, denied.report.retryable]).toEqual([[], true]);
    await stage.restart();
    expect(stage.inventory.find(podinfo)?.sourceKey).toBe(KEY);
    expect((await pruned({ objects })).outcome).toMatchObject({ state: 'failed', reason: 'DeleteFailed' });
    restore();
    expect((await stage.apply({ objects, prunes })).outcomes.get(KEY)).toMatchObject({ state: 'deleted' });
    expect(await stage.read()).toBeUndefined();
    expect(stage.inventory.find(podinfo)).toBeUndefined();
  });

  it.each([
    ['is another incarnation than the one that its file brought', { prunes: [{ key: KEY, uid: 'another' }] }],
    ['was brought by another file', { prunes: [{ key: 'apps/shop/x.yaml', uid: 'same' }] }],
    ['is not named', { prunes: [] }],
    ['still has its file', { objects: [file()], prunes: [{ key: KEY, uid: 'same' }] }],
    [
      'has a file that cannot be read',
      { faults: [{ key: KEY, reason: 'ManifestInvalid', message: 'x' }], prunes: [{ key: KEY, uid: 'same' }] },
    ],
    ['is named by a part of the source only', { scope: 'partial' as const, prunes: [{ key: KEY, uid: 'same' }] }],
  ])('stays where it %s', async (_, set) => {
    await stage.apply({ objects: [file()] });
    const uid = stage.inventory.records()[0]?.uid ?? '';
    stage.recording.forget();
    await stage.apply({
      ...set,
      prunes: set.prunes.map((prune) => (prune.uid === 'same' ? { ...prune, uid } : prune)),
    });
    expect([deletes(), (await stage.read())?.metadata.uid]).toEqual([[], uid]);
  });

  it('stays, and is listed, when the inventory was rebuilt from labels: that knows no files', async () => {
    await stage.apply({ objects: [file()] });
    const prunes = named(KEY);
    const map = {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      namespace: 'service-system',
      name: 'service-operator-inventory',
    };
    await stage.cluster.api.delete(map);
    await stage.restart();
    const { kept } = await pruned({ prunes });
    expect([kept, deletes()]).toEqual([['podinfo'], []]);
  });

  it.each([
    ['signatures are required and the commit has none', { requireSignedPayloads: true }, {}, 'SignatureMissing'],
    ['its namespace is not allowed any more', { allowedNamespaces: ['bank'] }, {}, 'NamespaceNotAllowed'],
    ['nobody may write at all', { paused: true, pause: 'paused' }, {}, undefined],
    [
      'it is not managed any more',
      {},
      { metadata: { labels: { 'app.service.io/managed-by': null } } },
      'ManifestRefused',
    ],
    ['it is paused', {}, { metadata: { annotations: { 'ops.service.io/paused': 'true' } } }, 'Paused'],
    [
      'something newer came by another way',
      {},
      { metadata: { annotations: { 'app.service.io/source': '1.7' } } },
      'StaleSource',
    ],
  ])('stays where %s, which is said', async (_, policy, patch, reason) => {
    await stage.apply({ objects: [file()] });
    await stage.cluster.api.mergePatch(podinfo, patch);
    stage.policy = aPolicy(policy);
    stage.recording.forget();
    const { outcome, kept } = await pruned();
    expect(outcome === undefined ? undefined : (outcome as { reason: string }).reason).toBe(reason);
    expect([deletes(), kept]).toEqual([[], reason === 'StaleSource' ? ['podinfo'] : []]);
  });

  it('goes where signatures are required and the commit was signed by one who may', async () => {
    await stage.apply({ objects: [file()] });
    stage.policy = aPolicy({ requireSignedPayloads: true });
    expect((await pruned({ isSigned: true })).outcome).toMatchObject({ state: 'deleted' });
  });

  it('stays where its namespace was taken back', async () => {
    await stage.apply({ objects: [file()] });
    await stage.cluster.api.mergePatch(aNamespaceRef(), { metadata: { labels: { 'managed-by': null } } });
    expect((await pruned()).outcome).toMatchObject({ state: 'refused', reason: 'NamespaceNotLabelled' });
  });
});

function aNamespaceRef(): { apiVersion: string; kind: string; name: string } {
  return { apiVersion: 'v1', kind: 'Namespace', name: aNamespace().metadata.name };
}
