import { renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { ModeWorld } from '../support/mode-world/mode-world.ts';
import { begin, deletes, endOf, expectKept, installed, request } from './mode-stage.ts';

const APPS = /\/applicationinstances\/[^/]+$/;

it(
  'M2: a way that fails its probe is not taken: the cluster stays in its mode and says why',
  { timeout: 180_000 },
  async () => {
    await using world = await ModeWorld.start({ mode: 'pull' });
    const uids = await installed(world, 3);
    const before = world.writes.length;
    const { body: old } = await world.call('GET', `/clusters/${world.clusterId}`);
    const kubeconfig = world.pushKubeconfig();
    world.revokePushToken();
    const answer = await world.requestMode('push', { push: { kubeconfig } });
    expect(answer).toMatchObject({ status: 202 });
    const end = await endOf(world, String(answer.body['switch'].id), 'rolled-back');
    expect(end['reason']).toContain('401');
    expect(end['probes']).toContainEqual(expect.objectContaining({ ok: false }));
    await expectKept(world, 'pull', uids);
    expect(world.writes.slice(before)).toEqual([]);
    const { body: view } = await world.call('GET', `/clusters/${world.clusterId}`);
    expect(view['deliveryEpoch']).toBe(old['deliveryEpoch']);
    await expectWorking(world);
  },
);

it(
  'M2: an API server that refuses after 3 of 10 objects gets the cluster back to pull mode',
  { timeout: 180_000 },
  async () => {
    await using world = await ModeWorld.start({ mode: 'pull' });
    const uids = await installed(world, 10);
    const id = await request(world, 'push');
    let taken = 0;
    world.cluster.cluster.sandbox.faults.add({
      match: ({ method, path, query, userAgent }) => {
        const isPush = userAgent?.startsWith('service-control-plane') === true && !query.has('dryRun');
        if (!isPush || method !== 'PATCH' || !APPS.test(path) || query.get('fieldManager') === null) return false;
        taken += 1;
        return taken > 3;
      },
      respond: {
        status: 403,
        body: JSON.stringify({ kind: 'Status', reason: 'Forbidden', message: 'no more for you' }),
      },
    });
    const end = await endOf(world, id, 'rolled-back');
    expect(end['reason']).toContain('no more for you');
    expect(taken).toBeGreaterThan(3);
    await expectKept(world, 'pull', uids);
    expect(deletes(world)).toEqual([]);
    expect(end['credentials']).toContainEqual(expect.objectContaining({ kind: 'push', change: 'revoked' }));
    await expectWorking(world);
  },
);

it('M2: a Git host that goes down half-way gets the cluster back to pull mode', { timeout: 180_000 }, async () => {
  await using world = await ModeWorld.start({ mode: 'pull' });
  const uids = await installed(world, 4);
  const id = await request(world, 'gitops');
  const repository = join(world.plane.plane.folder, 'git', 'fleet.git');
  await world.until('the hand-over', async () => {
    const { state } = await world.switchOf(id);
    return ['fencing', 'handing-over'].includes(state) ? true : undefined;
  });
  renameSync(repository, `${repository}.away`);
  writeFileSync(repository, 'what a broken disk leaves');
  const end = await endOf(world, id, 'rolled-back');
  expect(end['steps'].map(({ state }: { state: string }) => state)).toContain('handing-over');
  expect(end['reason']).not.toBe('');
  rmSync(repository);
  renameSync(`${repository}.away`, repository);
  await expectKept(world, 'pull', uids);
  expect(deletes(world)).toEqual([]);
  await expectWorking(world);
});

it(
  'M2: a field that belongs to a person gets the cluster back, and is named with whose it is',
  { timeout: 180_000 },
  async () => {
    await using world = await ModeWorld.start({ mode: 'pull' });
    const uids = await installed(world, 4);
    // As a person does who wants another value for good.
    await world.cluster.cluster.api.mergePatch(
      world.ref('app-2'),
      { spec: { chart: { version: '6.6.1' } } },
      { fieldManager: 'kubectl-edit' },
    );
    const id = await request(world, 'push');
    const end = await endOf(world, id, 'rolled-back');
    expect(end['reason']).toContain('kubectl-edit');
    expect(end['reason']).toContain('.spec.chart.version');
    expect((await world.view())['connectivityMode']).toBe('pull');
    expect(await world.uids()).toEqual(uids);
    expect(deletes(world)).toEqual([]);
  },
);

/** The way that it is back in, or stayed in, delivers. */
async function expectWorking(world: ModeWorld): Promise<void> {
  const id = await begin(world, { action: 'update', name: 'app-1', chartVersion: '6.6.1' });
  await world.untilIntent(id, ['ready']);
}
