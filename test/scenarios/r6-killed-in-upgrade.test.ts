import { expect, it } from 'vitest';
import { GitStage } from './git-stage.ts';

const UPGRADE_MS = 1500;

it('R6: an operator that ends during an upgrade finds it pending and brings it to its end; others are not held up', async () => {
  await using stage = await GitStage.start(['a', 'b'], {}, { upgradeMs: UPGRADE_MS });
  const before = await stage.identities();
  const version = async (name: string): Promise<string | undefined> =>
    (await stage.read(name))?.status?.release?.chartVersion;
  stage.push(Object.fromEntries([stage.file({ name: 'a', source: '1.2', version: '6.6.1' })]));
  await stage.untilReady('a', 'False', 'HelmReleaseUpgrading');
  await stage.world.stopAll();
  // Nobody watches: another application is asked for, and one is upgraded too.
  const revision = stage.push(
    Object.fromEntries([stage.file({ name: 'c' }), stage.file({ name: 'b', source: '1.2', version: '6.6.1' })]),
  );
  expect(await version('a')).toBe('6.5.0');
  await stage.world.start();
  await stage.untilApplied(revision);
  // Not held up by the upgrade that was pending, nor by the one of its own.
  await stage.untilReady('c');
  for (const name of ['a', 'b']) {
    await stage.untilReady(name, 'True', 'HelmReleaseUpgraded');
    expect(await version(name)).toBe('6.6.1');
  }
  expect(await stage.identities()).toMatchObject(before);
  expect(stage.deletes).toEqual([]);
}, 60_000);

it('R6: a write that was cut off midway is one write after the restart, whichever it was', async () => {
  await using stage = await GitStage.start(['a', 'b', 'c']);
  const before = await stage.identities();
  // The API server takes the first of three changes and dies with the operator.
  let patches = 0;
  const restore = stage.world.cluster.sandbox.faults.add({
    match: ({ method, path }) => {
      if (method !== 'PATCH' || !/applicationinstances\/\w$/.test(path)) return false;
      patches += 1;
      return patches > 1;
    },
    respond: { status: 503, body: '{}' },
  });
  const names = ['a', 'b', 'c'];
  const revision = stage.push(
    Object.fromEntries(names.map((name) => stage.file({ name, source: '1.2', version: '6.6.1' }))),
  );
  await expect.poll(() => patches, { timeout: 10_000, interval: 5 }).toBeGreaterThan(2);
  await stage.world.stopAll();
  restore();
  await stage.world.start();
  await stage.untilApplied(revision);
  for (const name of names) {
    const released = async (): Promise<unknown> => (await stage.read(name))?.status?.release?.chartVersion;
    await expect.poll(released, { timeout: 10_000 }).toBe('6.6.1');
    expect((await stage.read(name))?.metadata.generation).toBe(2);
  }
  expect([await stage.identities(), stage.deletes]).toEqual([before, []]);
}, 60_000);
