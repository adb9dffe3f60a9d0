import { describe, expect, it } from 'vitest';
import { applyJob } from './jobs/job-stage.ts';
import { ModeStage } from './mode-stage.ts';

const wait = { timeout: 15_000, interval: 10 };
const READY = 'Ready=True HelmReleaseReady';

describe('the operator in push mode', () => {
  it('applies nothing, reconciles and reports what the control plane writes, and adopts it', async () => {
    await using stage = await ModeStage.start({ withReleases: true });
    await stage.change('push', 2);
    await stage.push({ source: '2.1', intentId: 'int-1' });
    await stage.untilSaid(`${READY} push 2.1 int-1`);
    const record = { epoch: 2, generation: 1, intentId: 'int-1', mode: 'push', sourceKey: '' };
    await expect.poll(async () => await stage.inventory(), wait).toEqual([expect.objectContaining(record)]);
    expect(stage.timeline).toEqual(['told 2']);
  });

  it('takes over what pull brought with its UID, and tells of each delivery again although no status changes', async () => {
    await using stage = await ModeStage.start({ withReleases: true });
    stage.jobs.plane.queue.put(applyJob('j1'));
    expect(await stage.jobs.result('j1')).toBe('succeeded');
    const uid = (await stage.jobs.instance())?.metadata.uid;
    await stage.change('push', 2);
    await stage.push({ source: '2.1' });
    await stage.untilSaid(`${READY} push 2.1 int-1`);
    // Rolled back and asked for again before the old way had reached the object: mode and intent are as before.
    await stage.change('push', 4);
    await stage.push({ source: '4.1' });
    await stage.untilSaid(`${READY} push 4.1 int-1`);
    await stage.change('pull', 5);
    stage.jobs.plane.queue.put(applyJob('j5', { source: '5.1' }));
    await stage.untilSaid(`${READY} pull 5.1 int-1`);
    const after = await stage.jobs.instance();
    expect(after?.metadata.uid).toBe(uid);
    const owners = after?.metadata.managedFields?.filter(({ operation, manager }) => {
      return operation === 'Apply' && ['service-operator', 'service-control-plane'].includes(manager ?? '');
    });
    expect(owners?.map(({ manager }) => manager)).toEqual(['service-operator']);
  });

  it('uninstalls for a mark that the control plane set, reports the end with its order, and remembers it first', async () => {
    await using stage = await ModeStage.start({ withReleases: true });
    await stage.change('push', 2);
    await stage.push({ source: '2.1' });
    await stage.untilSaid(`${READY} push 2.1 int-1`);
    const remembered: unknown[] = [];
    stage.jobs.world.cluster.sandbox.audit.listen(({ path, method, body }) => {
      const isFreed =
        path.endsWith('/applicationinstances/podinfo') && method === 'PATCH' && body.includes('finalizers');
      const isSaved = path.includes('/configmaps') && body.includes('reportedFor');
      if (isFreed && body.includes('"finalizers":[]')) remembered.push('freed');
      if (isSaved) remembered.push('saved');
    });
    await stage.pushTombstone('2.2', 'int-9');
    await expect.poll(async () => await stage.jobs.instance(), wait).toBeUndefined();
    await stage.untilSaid('Ready=False Uninstalled push 2.2 int-9');
    expect(remembered).toEqual(['saved', 'freed']);
    expect(await stage.inventory()).toEqual([
      expect.objectContaining({ epoch: 2, generation: 2, reportedFor: 'int-9' }),
    ]);
    await stage.change('pull', 3);
    stage.jobs.plane.queue.put(applyJob('j1', { source: '2.1' }));
    expect(await stage.jobs.result('j1')).toBe('noop: source 2.1 is older than 2.2, which is applied');
  });

  it('finds at its start what came and went while it was away', async () => {
    await using stage = await ModeStage.start({ withReleases: true });
    await stage.change('push', 2);
    await stage.push({ source: '2.1' });
    await stage.untilSaid(`${READY} push 2.1 int-1`);
    await stage.jobs.stop();
    await stage.push({ source: '2.3', version: '6.6.1', intentId: 'int-3' });
    await stage.push({ source: '2.1', name: 'other', intentId: 'int-4' });
    await stage.jobs.begin();
    await stage.untilSaid('Ready=True HelmReleaseUpgraded push 2.3 int-3');
    await expect.poll(async () => await stage.inventory(), wait).toMatchObject([{ epoch: 2, generation: 3 }]);
    await expect.poll(async () => await stage.inventory('other'), wait).toMatchObject([{ mode: 'push' }]);
  });

  it('writes the inventory a few times for a hundred objects that come at once, and not at all when nothing changed', async () => {
    await using stage = await ModeStage.start();
    await stage.change('push', 2);
    let saves = 0;
    stage.jobs.world.cluster.sandbox.audit.listen(({ path }) => {
      if (path.includes('/configmaps/service-operator-inventory')) saves += 1;
    });
    const names = Array.from({ length: 100 }, (_, index) => `app-${index}`);
    await Promise.all(names.map(async (name) => await stage.push({ name, source: '2.1' })));
    await expect.poll(async () => (await stage.inventory('app-99')).length, wait).toBe(1);
    for (const name of names) await expect.poll(async () => (await stage.inventory(name)).length, wait).toBe(1);
    const afterAll = saves;
    expect(afterAll).toBeLessThan(10);
    await stage.push({ name: 'app-1', source: '2.1', spec: { suspend: true } });
    await stage.push({ name: 'app-2', source: '2.2', intentId: 'int-2' });
    await expect.poll(async () => await stage.inventory('app-2'), wait).toMatchObject([{ generation: 2 }]);
    expect(saves).toBe(afterAll + 1);
  });

  it('judges what push writes by the same policy', async () => {
    await using stage = await ModeStage.start();
    await stage.change('push', 2);
    const chart = { type: 'oci', url: 'oci://elsewhere.test/podinfo', name: 'podinfo', version: '6.5.0' } as const;
    await stage.push({ source: '2.1', spec: { chart } });
    await expect
      .poll(() => stage.said().filter((text) => text.startsWith('Stalled=True')), wait)
      .toEqual(['Stalled=True ChartNotAllowed push 2.1 int-1']);
    const release = {
      apiVersion: 'helm.toolkit.fluxcd.io/v2',
      kind: 'HelmRelease',
      namespace: 'shop',
      name: 'podinfo',
    };
    expect(await stage.jobs.world.cluster.api.get(release)).toBeUndefined();
  });
});
