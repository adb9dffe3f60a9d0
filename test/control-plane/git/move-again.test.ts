import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { INSTALL, RunningControlPlane } from '../running-control-plane.ts';

let plane: RunningControlPlane;

beforeEach(async () => {
  plane = await RunningControlPlane.start();
  await plane.putPodinfo();
});
afterEach(async () => await plane[Symbol.asyncDispose]());

async function install(slug: string): Promise<void> {
  const { body } = await plane.call('POST', `/clusters/${await plane.newCluster(slug)}/intents`, INSTALL);
  await plane.until(String(body['id']), 'delivered');
}

const move = async (layout: string, more: Record<string, unknown> = {}) =>
  await plane.call('POST', '/repositories/fleet/layout', { layout, ...more });
const root = async (): Promise<string> => (await plane.git('rev-parse', 'main^{tree}')).trim();
const tip = async (): Promise<string> => (await plane.git('rev-parse', 'main')).trim();

// `prod-316` and `prod-533` are in the shard e2, `apps` is in d5.
describe('a move to the layout that holds', () => {
  it('changes nothing, also where a cluster without a directory has the name of a shard', async () => {
    for (const slug of ['prod-316', 'prod-533']) await install(slug);
    expect((await move('sharded')).body).toMatchObject({ state: 'moved', directories: 2 });
    await plane.newCluster('e2');
    const before = await tip();
    expect((await move('sharded', { dryRun: true })).body).toMatchObject({
      state: 'planned',
      directories: 0,
      collisions: [],
    });
    const again = await move('sharded');
    expect([again.status, again.body]).toEqual([
      200,
      { name: 'fleet', from: 'sharded', to: 'sharded', state: 'unchanged', directories: 0 },
    ]);
    expect(await tip()).toBe(before);
    expect((await plane.git('ls-tree', '--name-only', 'main', 'clusters/e2/')).trim().split('\n')).toEqual([
      'clusters/e2/prod-316',
      'clusters/e2/prod-533',
    ]);
  });

  it('changes nothing in the flat layout, where the place of one cluster is in the directory of another', async () => {
    await install('d5');
    await plane.newCluster('apps');
    const before = await tip();
    expect((await move('flat')).body).toMatchObject({ state: 'unchanged', directories: 0 });
    expect(await tip()).toBe(before);
  });

  it('and back and forth keeps every directory, with the names of shards and of folders', async () => {
    for (const slug of ['d5', 'prod-316', 'de']) await install(slug);
    for (const slug of ['apps', 'e2', 'operations', 'tombstones']) await plane.newCluster(slug);
    const before = await root();
    expect((await move('sharded')).body).toMatchObject({ state: 'moved', directories: 3 });
    expect((await move('sharded')).body['state']).toBe('unchanged');
    expect((await move('flat')).body).toMatchObject({ state: 'moved', directories: 3 });
    expect(await root()).toBe(before);
    expect((await move('flat')).body['state']).toBe('unchanged');
    expect(await root()).toBe(before);
  });

  it('is not begun by whoever asked a moment too late', async () => {
    await install('prod-316');
    const answers = await Promise.all([move('sharded'), move('sharded'), move('sharded')]);
    expect(answers.map(({ status }) => status < 300)).toEqual([true, true, true]);
    const moves = await plane.git('log', '--format=%(trailers:key=Layout-Move,valueonly)', 'main');
    expect(moves.split('\n').filter((line) => line !== '')).toEqual(['sharded']);
  });
});
