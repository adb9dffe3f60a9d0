import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Inventory } from '../../src/reconcile/inventory.ts';
import type { InventoryRecord } from '../../src/reconcile/inventory-record.ts';
import type { KubeObject } from '../../src/resources/kube-object.ts';
import { anInstance, CLUSTER_ID } from './manifests.ts';
import { RecordingApi } from './recording-api.ts';
import { logger, startTestCluster, type TestCluster } from './test-cluster.ts';

const signal = new AbortController().signal;
const KIND = { apiVersion: 'apps.service.io/v1alpha1', kind: 'ApplicationInstance', namespace: 'shop' };
const CONFIG_MAP = { apiVersion: 'v1', kind: 'ConfigMap', namespace: 'service-system' };
const AT = '2026-01-01T00:00:00Z';

let cluster: TestCluster;
let recording: RecordingApi;

beforeEach(async () => {
  cluster = await startTestCluster();
  recording = new RecordingApi(cluster.api);
});
afterEach(async () => {
  await cluster[Symbol.asyncDispose]();
});

async function load(): Promise<Inventory> {
  const inventory = new Inventory({ api: recording.api, logger, clusterId: () => CLUSTER_ID });
  await inventory.load(signal);
  return inventory;
}

function aRecord(change: Partial<InventoryRecord> = {}): InventoryRecord {
  const { name = 'podinfo' } = change;
  return {
    ...KIND,
    name,
    uid: `uid-${name}`,
    epoch: 1,
    generation: 1,
    sourceKey: `apps/shop/${name}.yaml`,
    fingerprint: 'f'.repeat(43),
    ...change,
  };
}

/** With everything that a record may have, as long as it comes. */
function largeRecord(name: string): InventoryRecord {
  const intentId = `int-${'0'.repeat(22)}`;
  return aRecord({
    name,
    uid: `00000000-0000-4000-8000-${name.padStart(12, '0')}`,
    intentId,
    mode: 'gitops',
    revision: 'r'.repeat(40),
    namespace: 'n'.repeat(63),
  });
}

async function configMaps(): Promise<readonly (KubeObject & { data: Record<string, string> })[]> {
  const { items } = await cluster.api.list<KubeObject & { data: Record<string, string> }>(CONFIG_MAP, {
    namespace: 'service-system',
  });
  return items.filter(({ metadata }) => metadata.name.startsWith('service-operator-inventory'));
}

describe('the inventory', () => {
  it('outlives a restart, and writes only when something changed, and only that', async () => {
    const inventory = await load();
    inventory.record(aRecord());
    inventory.record(aRecord({ name: 'other' }));
    await inventory.save(signal);
    await inventory.save(signal);
    inventory.record(aRecord());
    await inventory.save(signal);
    expect(recording.writes).toEqual(['create ConfigMap service-system/service-operator-inventory']);
    inventory.record(aRecord({ generation: 2 }));
    await inventory.save(signal);
    expect(recording.writes).toHaveLength(2);
    expect((await load()).records()).toEqual([aRecord({ generation: 2 }), aRecord({ name: 'other' })]);
  });

  it('holds 10,000 objects in ConfigMaps below their limit, and changes one entry with one small write', async () => {
    const inventory = await load();
    const records = Array.from({ length: 10_000 }, (_, index) => largeRecord(`app-${index}`));
    const started = performance.now();
    for (const record of records) inventory.record(record);
    await inventory.save(signal);
    expect(performance.now() - started).toBeLessThan(15_000);
    const maps = await configMaps();
    expect(maps.length).toBeLessThan(10);
    // What the API server adds up: values and, to be safe, keys.
    const bytesOf = (data: Record<string, string>): number =>
      Object.entries(data).reduce((sum, [key, value]) => sum + Buffer.byteLength(key) + Buffer.byteLength(value), 0);
    for (const { data } of maps) expect(bytesOf(data)).toBeLessThan(1024 * 1024 - 64 * 1024);
    recording.forget();
    const again = await load();
    expect(again.records()).toHaveLength(10_000);
    for (const record of records) again.record(record);
    await again.save(signal);
    expect(recording.writes).toEqual([]);
    again.record({ ...largeRecord('app-7'), generation: 2 });
    await again.save(signal);
    expect(recording.writes).toHaveLength(1);
    expect((await load()).lastPair(largeRecord('app-7'))).toMatchObject({ epoch: 1, generation: 2 });
  });

  it.each(['service-operator-inventory', 'service-operator-inventory-2', 'service-operator-inventory-3'])(
    'misses a part that was deleted (%s), finds its objects again by their labels, and deletes nothing',
    async (name) => {
      await cluster.api.create(anInstance({ source: '1.4' }), 'test');
      const inventory = await load();
      // The instance that is really there lies in each of the parts once.
      const [live] = inventory.records();
      for (let index = 0; index < 4000; index += 1) inventory.record(largeRecord(`app-${index}`));
      await inventory.save(signal);
      expect(await configMaps()).toHaveLength(3);
      await cluster.api.delete({ ...CONFIG_MAP, name });
      recording.forget();
      const again = await load();
      expect(again.find({ ...KIND, name: 'podinfo' })).toEqual(live);
      expect(again.records().length).toBeGreaterThan(1000);
      expect(recording.calls.map(({ verb, about }) => `${verb} ${about}`)).toContain('list ApplicationInstance');
      await again.save(signal);
      expect((await load()).records()).toHaveLength(again.records().length);
      expect(recording.writes.filter((write) => write.startsWith('delete'))).toEqual([]);
    },
  );

  it("takes nothing of another record's, and writes over it", async () => {
    const other = new Inventory({ api: recording.api, logger, clusterId: () => 'c-ffffffffffffffff' });
    await other.load(signal);
    other.record(aRecord({ name: 'theirs' }));
    await other.save(signal);
    await cluster.api.create(anInstance({ source: '1.4' }), 'test');
    const inventory = await load();
    expect(inventory.records().map(({ name }) => name)).toEqual(['podinfo']);
    await inventory.save(signal);
    const [map, ...more] = await configMaps();
    expect([map?.metadata.labels?.['app.service.io/cluster-id'], Object.keys(map?.data ?? {}).length, more]).toEqual([
      CLUSTER_ID,
      1,
      [],
    ]);
  });

  it('remembers the order of what is gone, the highest of it, and lets a new incarnation take the place', async () => {
    const inventory = await load();
    inventory.record(aRecord({ generation: 7 }));
    inventory.remember({ ...KIND, name: 'podinfo', epoch: 1, generation: 5, at: AT });
    await inventory.save(signal);
    const again = await load();
    expect(again.records()).toEqual([]);
    expect(again.lastPair({ ...KIND, name: 'podinfo' })).toMatchObject({ epoch: 1, generation: 7 });
    again.record(aRecord({ uid: 'uid-2', generation: 8 }));
    again.record(aRecord({ uid: 'uid-3', generation: 8 }));
    expect(again.records().map(({ uid }) => uid)).toEqual(['uid-3']);
  });

  it('forgets the oldest of what is gone once there are too many', async () => {
    const inventory = await load();
    for (let index = 0; index <= 5000; index += 1) {
      const at = new Date(Date.parse(AT) + index * 1000).toISOString();
      inventory.remember({ ...KIND, name: `app-${index}`, epoch: 1, generation: 1, at });
    }
    expect(inventory.deleted({ ...KIND, name: 'app-0' })).toBeUndefined();
    expect(inventory.deleted({ ...KIND, name: 'app-1' })).toBeDefined();
  });

  it('drops an entry that someone spoiled, and finds the object again by its labels', async () => {
    await cluster.api.create(anInstance({ source: '1.4' }), 'test');
    const inventory = await load();
    const [record] = inventory.records();
    await inventory.save(signal);
    const ref = { ...CONFIG_MAP, name: 'service-operator-inventory' };
    await cluster.api.mergePatch(ref, { data: { [record?.uid ?? '']: '{"uid":', nonsense: '[]' } });
    const again = await load();
    expect(again.records()).toEqual([record]);
    expect(record).toMatchObject({ name: 'podinfo', epoch: 1, generation: 4, intentId: 'int-1', fingerprint: '' });
    await again.save(signal);
    expect(Object.keys((await configMaps())[0]?.data ?? {})).toEqual([record?.uid]);
  });

  it('keeps what a failed save did not write for the next one, also when the ConfigMap was deleted meanwhile', async () => {
    const inventory = await load();
    inventory.record(aRecord());
    const restore = cluster.sandbox.faults.add({
      match: ({ method, path }) => method === 'POST' && path.endsWith('/configmaps'),
      respond: { status: 403, body: JSON.stringify({ kind: 'Status', code: 403, reason: 'Forbidden', message: 'no' }) },
    });
    await expect(inventory.save(signal)).rejects.toMatchObject({ status: 403 });
    restore();
    await inventory.save(signal);
    await cluster.api.delete({ ...CONFIG_MAP, name: 'service-operator-inventory' });
    inventory.record(aRecord({ name: 'other' }));
    await inventory.save(signal);
    expect((await load()).records().map(({ name }) => name)).toEqual(['podinfo', 'other']);
  });

  it('knows which revision brought an object before the apply has answered, and only for that order', async () => {
    const inventory = await load();
    inventory.record(aRecord({ mode: 'gitops', revision: 'rev-1' }));
    inventory.expect(
      { ...KIND, name: 'podinfo' },
      { pair: { epoch: 1, generation: 2 }, mode: 'gitops', revision: 'rev-2' },
    );
    const revisionOf = (generation: number) =>
      inventory.arrivalOf({ ...KIND, name: 'podinfo' }, { epoch: 1, generation })?.revision;
    expect([1, 2, 3].map(revisionOf)).toEqual(['rev-1', 'rev-2', undefined]);
  });
});
