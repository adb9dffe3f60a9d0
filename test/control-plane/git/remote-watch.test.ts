import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { EMPTY_TREE_ID } from '../../../src/git/git-object.ts';
import { LookingClock } from '../../support/looking-clock.ts';
import { gitEnv, INSTALL, RunningControlPlane } from '../running-control-plane.ts';

const run = promisify(execFile);

let clock: LookingClock;
let plane: RunningControlPlane;
beforeEach(async () => {
  clock = new LookingClock();
  plane = await RunningControlPlane.start(clock);
  await plane.putPodinfo();
});
afterEach(async () => await plane[Symbol.asyncDispose]());

/** A person with access to the repository's own folder, past the control plane. */
async function editByHand(
  message: string,
  edit: (git: (...args: string[]) => Promise<string>) => Promise<unknown>,
): Promise<void> {
  const clone = join(plane.folder, `by-hand-${message}`);
  const env = gitEnv({ username: '', password: '' });
  await run('git', ['clone', '--quiet', join(plane.folder, 'git', 'fleet.git'), clone], { env });
  const git = async (...args: string[]): Promise<string> => (await run('git', ['-C', clone, ...args], { env })).stdout;
  await edit(git);
  await git('commit', '--quiet', '--allow-empty', '-m', message);
  await git('push', '--quiet');
}

async function installed(slug: string): Promise<string> {
  const id = await plane.newCluster(slug);
  const { body } = await plane.call('POST', `/clusters/${id}/intents`, INSTALL);
  await plane.until(String(body['id']), 'delivered');
  return id;
}

const known = (id: string): Record<string, unknown> | undefined =>
  plane.query('SELECT desired_revision AS revision, config_revision AS config FROM clusters WHERE id = ?', id)[0];

const treeOf = async (slug: string): Promise<string> => (await plane.git('rev-parse', `main:clusters/${slug}`)).trim();

/** Lets the watch look until what it should find out is found out. */
async function afterALook<T>(check: () => T | Promise<T>): Promise<T> {
  return await vi.waitFor(
    async () => {
      clock.look();
      return await check();
    },
    { timeout: 10_000, interval: 50 },
  );
}

describe('what others write to a repository', () => {
  it('reaches the cluster whose directory changed, and only that one', async () => {
    const edited = await installed('prod-eu');
    const untouched = await installed('prod-us');
    const before = known(untouched);
    await editByHand('remove', async (git) => await git('rm', '--quiet', 'clusters/prod-eu/apps/shop/podinfo.yaml'));
    const tree = await treeOf('prod-eu');
    await afterALook(() => expect(known(edited)?.['revision']).toBe(tree));
    expect(known(untouched)).toEqual(before);
  });

  it('changes nothing when only something outside the directories changed', async () => {
    const id = await installed('prod-eu');
    const before = known(id);
    await editByHand('nothing', async () => undefined);
    const other = await installed('prod-us');
    await editByHand('remove', async (git) => await git('rm', '--quiet', 'clusters/prod-us/apps/shop/podinfo.yaml'));
    const tree = await treeOf('prod-us');
    await afterALook(() => expect(known(other)?.['revision']).toBe(tree));
    expect(known(id)).toEqual(before);
  });

  it('tells a cluster that its whole directory is gone, and delivers to it again', async () => {
    const gone = await installed('prod-eu');
    const kept = await installed('prod-us');
    await editByHand('drop', async (git) => {
      await git('rm', '-r', '--quiet', 'clusters/prod-eu');
      await git('rm', '--quiet', 'clusters/prod-us/apps/shop/podinfo.yaml');
    });
    const tree = await treeOf('prod-us');
    const expected = [tree, EMPTY_TREE_ID];
    await afterALook(() => expect([known(kept)?.['revision'], known(gone)?.['revision']]).toEqual(expected));
    const { body } = await plane.call('POST', '/clusters/prod-eu/intents', {
      ...INSTALL,
      action: 'update',
      chartVersion: '6.6.1',
    });
    await plane.until(String(body['id']), 'delivered');
    expect(known(gone)?.['revision']).toBe(await treeOf('prod-eu'));
  });
});
