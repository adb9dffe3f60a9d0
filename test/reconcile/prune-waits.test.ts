import { afterEach, beforeEach, expect, it } from 'vitest';
import type { DesiredItem, Prune } from '../../src/delivery/delivery.ts';
import { syncConditions } from '../../src/reconcile/cluster/sync-conditions.ts';
import { type ApplyStage, setApplyStage } from './apply-stage.ts';
import { aTombstone, file } from './manifests.ts';

const KEY = 'apps/shop/podinfo.yaml';
let stage: ApplyStage;

beforeEach(async () => {
  stage = await setApplyStage();
  await stage.apply({ objects: [file(), file({ name: 'other' })] });
  stage.recording.forget();
});
afterEach(async () => {
  await stage[Symbol.asyncDispose]();
});

function prunes(): Prune[] {
  const uid = stage.inventory.records().find(({ sourceKey }) => sourceKey === KEY)?.uid ?? '';
  return [{ key: KEY, uid }];
}

const deletes = (): string[] => stage.recording.writes.filter((write) => write.startsWith('delete'));

it.each<[string, DesiredItem, string]>([
  ['is in a namespace that is not allowed', file({ name: 'podinfo', namespace: 'bank' }), 'NamespaceNotAllowed'],
  ['is of an old order', file({ name: 'moved', source: '0.1' }), 'StaleSource'],
  [
    'waits in a circle',
    file({ name: 'moved', spec: { dependsOn: [{ name: 'moved' }, { name: 'other' }] } }),
    'SpecInvalid',
  ],
])('what vanished stays while what takes its place %s, and goes once that is applied', async (_what, item, reason) => {
  const other = file({
    name: 'other',
    ...(reason === 'SpecInvalid' ? { source: '1.9', spec: { dependsOn: [{ name: 'moved' }] } } : {}),
  });
  const report = await stage.apply({ objects: [other, item], prunes: prunes() });
  expect(report.outcomes.get(item.key)).toMatchObject({ reason });
  expect([deletes(), report.outcomes.has(KEY)]).toEqual([[], false]);
  expect(report.removedWithoutTombstone.map(({ name }) => name)).toEqual(['podinfo']);
  const message = syncConditions(report)[0]?.message ?? '';
  expect(message).toContain(`removals: RemovalsHeld: nothing is removed for ${KEY} while a file of the same revision`);
  expect(message).toContain(reason);
  await stage.apply({ objects: [file({ name: 'other' }), file({ name: 'anew' })], prunes: prunes() });
  expect(deletes()).toEqual(['delete ApplicationInstance shop/podinfo']);
});

it('a tombstone is asked for by itself, and waits for no other file', async () => {
  const removal = { key: 'tombstones/shop/podinfo.json', tombstone: aTombstone({ name: 'podinfo', generation: 9 }) };
  const bad = file({ name: 'moved', namespace: 'bank' });
  const report = await stage.apply({ objects: [file({ name: 'other' }), bad], removals: [removal] });
  expect(report.outcomes.get(bad.key)).toMatchObject({ reason: 'NamespaceNotAllowed' });
  expect(deletes()).toEqual(['delete ApplicationInstance shop/podinfo']);
});
