import { readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { findCondition } from '../../src/resources/conditions.ts';
import { GitHttp } from '../delivery/gitops/read/git-http.ts';
import { git, GitRemote } from '../delivery/gitops/read/git-remote.ts';
import { acceptanceIn, DIRECTORY, fileOf, GitStage } from './git-stage.ts';

const NAMES = 'abcdefghijkl'.split('');
const PRUNES = { prune_on_removal: true };
const gone = (...names: string[]): Record<string, null> =>
  Object.fromEntries(names.map((name) => [fileOf(name), null]));
const filesOf = (stage: GitStage, names: readonly string[]): Record<string, string> =>
  Object.fromEntries(names.map((name) => stage.file({ name })));
/** An ordinary commit. */
const README = { [`${DIRECTORY}/README.md`]: 'an ordinary commit' };

/** Applied, and all of it well. */
async function brought(stage: GitStage, names: readonly string[]): Promise<void> {
  stage.push(filesOf(stage, names));
  await stage.untilApplied();
  for (const name of names) await stage.untilReady(name);
  stage.deletes.length = 0;
}

/** What the operator reads and does is done, and a while has passed. */
async function held(stage: GitStage, text: string): Promise<string> {
  const read = async (): Promise<string> => {
    const condition = findCondition((await stage.world.read()).status?.conditions ?? [], 'Synced');
    return `${condition?.reason} ${condition?.message}`;
  };
  const revision = stage.revision();
  await expect
    .poll(read, { timeout: 15_000, interval: 20 })
    .toMatch(new RegExp(`^RemovalsHeld revision ${revision}:.*${text}`));
  return await read();
}

/** Five of twelve are gone by a person's acceptance, whose name is answered. */
async function accepted(stage: GitStage, names: readonly string[]): Promise<string> {
  stage.push(gone(...names));
  const acceptance = acceptanceIn(await stage.untilHeld('RemovalsHeld'));
  stage.tell({ accepted_removals: acceptance });
  for (const name of names) await stage.untilGone(name);
  await stage.untilApplied();
  return acceptance;
}

const OTHER_HISTORY = 'the branch was rewritten or went back';

describe('what was accepted once', () => {
  it('says nothing of what is missing when an old state is served again', async () => {
    await using stage = await GitStage.start(NAMES, PRUNES);
    await accepted(stage, ['a', 'b', 'c', 'd', 'e']);
    const old = git(stage.remote.bare, 'rev-parse', 'main');
    await brought(stage, ['n', 'o', 'p']);
    const before = await stage.identities();
    git(stage.remote.bare, 'update-ref', 'refs/heads/main', old);
    stage.tell();
    await held(stage, OTHER_HISTORY);
    expect([await stage.identities(), stage.deletes]).toEqual([before, []]);
  }, 60_000);

  it('says nothing of a directory that is empty another time, nor does an empty tree alone', async () => {
    await using stage = await GitStage.start(['a', 'b', 'c'], PRUNES);
    const acceptance = await accepted(stage, ['a', 'b', 'c']);
    await brought(stage, ['a', 'b', 'c', 'd']);
    const before = await stage.identities();
    await stage.world.annotate({ 'ops.service.io/accept-removals': acceptance.slice(0, 40) });
    stage.push(gone('a', 'b', 'c', 'd'));
    expect(acceptance.slice(0, 40)).toBe(stage.revision());
    const message = await held(stage, 'has no manifest any more');
    expect(acceptanceIn(message)).not.toBe(acceptance);
    expect([await stage.identities(), stage.deletes]).toEqual([before, []]);
  }, 60_000);

  it('where nothing was pruned, is no acceptance once something is', async () => {
    await using stage = await GitStage.start(NAMES, PRUNES);
    stage.push(gone('a', 'b', 'c', 'd', 'e'));
    const acceptance = acceptanceIn(await stage.untilHeld('RemovalsHeld'));
    stage.tell({ prune_on_removal: false });
    await held(stage, 'or uninstall the objects through the control plane');
    stage.tell({ accepted_removals: acceptance });
    stage.push(README);
    stage.push({ [`${DIRECTORY}/README.md`]: null });
    await held(stage, 'or uninstall the objects through the control plane');
    stage.tell(PRUNES);
    await held(stage, `--revision ${acceptance}`);
    expect(stage.deletes).toEqual([]);
  }, 60_000);
});

describe('a branch that was rewritten', () => {
  const damages: readonly (readonly [string, (stage: GitStage) => Promise<void>])[] = [
    [
      'a copy that is damaged',
      async ({ world }) => {
        const folder = join(world.stateDir, 'git');
        for (const key of readdirSync(folder)) rmSync(join(folder, key, '.git/objects/pack'), { recursive: true });
      },
    ],
    [
      'a copy of many packs',
      async ({ world }) => {
        const folder = join(world.stateDir, 'git');
        for (const key of readdirSync(folder)) {
          for (let index = 0; index < 300; index += 1) {
            const name = `pack-${String(index).padStart(40, '0')}.pack`;
            writeFileSync(join(folder, key, '.git/objects/pack', name), '');
          }
        }
      },
    ],
    [
      'another replica',
      async ({ world }) => {
        await world.stopAll();
        rmSync(join(world.stateDir, 'git'), { recursive: true });
        await world.start();
      },
    ],
  ];
  it.each(damages)(
    'removes nothing after %s either, and goes on once a person accepts it',
    async (_, damage) => {
      await using stage = await GitStage.start(NAMES, PRUNES);
      stage.remote.forgetHistory();
      stage.push(gone('a', 'b'));
      await held(stage, OTHER_HISTORY);
      await damage(stage);
      stage.push(README);
      const message = await held(stage, OTHER_HISTORY);
      expect([Object.keys(await stage.identities()), stage.deletes]).toEqual([NAMES, []]);
      stage.tell({ accepted_removals: acceptanceIn(message) });
      for (const name of ['a', 'b']) await stage.untilGone(name);
      // From there on it is ours.
      stage.push(gone('c'));
      await stage.untilGone('c');
      expect(stage.deletes.filter((path) => path.startsWith('helmreleases/')).sort()).toEqual(
        ['a', 'b', 'c'].map((name) => `helmreleases/${name}`),
      );
    },
    60_000,
  );

  it('while the operator was down removes nothing when it comes back with nothing of its own', async () => {
    await using stage = await GitStage.start(NAMES, PRUNES);
    await stage.world.stopAll();
    stage.remote.forgetHistory();
    stage.remote.push(gone('a', 'b', 'c'));
    rmSync(join(stage.world.stateDir, 'git'), { recursive: true });
    stage.tell();
    await stage.world.start();
    await held(stage, OTHER_HISTORY);
    expect([Object.keys(await stage.identities()), stage.deletes]).toEqual([NAMES, []]);
  }, 60_000);

  it('while nothing was pruned removes nothing once something is', async () => {
    await using stage = await GitStage.start(NAMES);
    stage.remote.forgetHistory();
    stage.push(gone('a', 'b'));
    await stage.untilApplied();
    stage.push(README);
    await stage.untilApplied();
    stage.tell(PRUNES);
    await held(stage, OTHER_HISTORY);
    expect([Object.keys(await stage.identities()), stage.deletes]).toEqual([NAMES, []]);
  }, 60_000);
});

describe('another source', () => {
  const place = 'this is another repository, branch or directory than';

  it('at another address removes nothing that it lacks', async () => {
    await using stage = await GitStage.start(NAMES, PRUNES);
    using other = new GitRemote();
    await using host = await GitHttp.start(other.folder);
    other.push({ ...filesOf(stage, NAMES.slice(0, 10)), 'clusters/us/apps/shop/other.yaml': 'x: 1\n' });
    stage.plane.configure({ git: { url: host.url, branch: 'main', path: DIRECTORY, ...PRUNES } });
    expect(await stage.untilHeld('RemovalsHeld')).toContain(place);
    expect([Object.keys(await stage.identities()), stage.deletes]).toEqual([NAMES, []]);
  }, 60_000);

  it.each([
    ['branch', { branch: 'staging', path: DIRECTORY }],
    ['directory', { branch: 'main', path: 'clusters/ap' }],
  ])(
    'in another %s removes nothing that it lacks, and is ours once it lacks nothing',
    async (_, where) => {
      await using stage = await GitStage.start(NAMES, PRUNES);
      const file = (name: string): string => fileOf(name).replace(DIRECTORY, where.path);
      const main = git(stage.remote.bare, 'rev-parse', 'main');
      const all = Object.entries(filesOf(stage, NAMES)).map(([path, text]) => [
        path.replace(DIRECTORY, where.path),
        text,
      ]);
      stage.remote.push({ ...Object.fromEntries(all), [`${where.path}/README.md`]: 'another' });
      stage.remote.push({ [file('a')]: null, [file('b')]: null });
      git(stage.remote.bare, 'update-ref', `refs/heads/${where.branch}`, 'main');
      if (where.branch !== 'main') git(stage.remote.bare, 'update-ref', 'refs/heads/main', main);
      const tell = (): void => stage.plane.configure({ git: { url: stage.host.url, ...where, ...PRUNES } });
      tell();
      expect(await stage.untilHeld('RemovalsHeld')).toContain(place);
      expect([Object.keys(await stage.identities()), stage.deletes]).toEqual([NAMES, []]);
    },
    60_000,
  );
});

it('a few at a time are as many as all at once', async () => {
  await using stage = await GitStage.start(NAMES, PRUNES);
  stage.push(gone('a', 'b', 'c'));
  for (const name of ['a', 'b', 'c']) await stage.untilGone(name);
  await stage.untilApplied();
  // A new process counts on.
  await stage.world.restart();
  stage.push(gone('d', 'e', 'f'));
  const message = await held(stage, 'has lost 3 of 9 applied manifests, after 3 that went within a day');
  await stage.world.until('RemovedWithoutTombstone', 'Unknown', 'RemovalsHeld');
  expect(Object.keys(await stage.identities())).toEqual(NAMES.slice(3));
  stage.tell({ accepted_removals: acceptanceIn(message) });
  for (const name of ['d', 'e', 'f']) await stage.untilGone(name);
  // What a person has looked at counts no more.
  stage.push(gone('g'));
  await stage.untilGone('g');
}, 60_000);

it('a file that goes while its object is being applied takes the object with it', async () => {
  await using stage = await GitStage.start(NAMES, PRUNES);
  using _slow = slowApply(stage, 'n');
  stage.push(filesOf(stage, ['n']));
  await expect
    .poll(async () => (await stage.world.read()).status?.attemptedRevision, { timeout: 15_000 })
    .toBe(stage.revision());
  stage.push(gone('n'));
  await expect.poll(() => stage.deletes, { timeout: 15_000 }).toContain('applicationinstances/n');
  await stage.untilGone('n');
  await stage.untilApplied();
  expect(Object.keys(await stage.identities())).toEqual(NAMES);
}, 60_000);

function slowApply(stage: GitStage, name: string): Disposable {
  const restore = stage.world.cluster.sandbox.faults.add({
    match: ({ method, path }) => method === 'PATCH' && path.endsWith(`applicationinstances/${name}`),
    delayMs: 2000,
    times: 1,
  });
  return { [Symbol.dispose]: restore };
}

it('where nothing is pruned, what vanished little by little is no news after a restart', async () => {
  await using stage = await GitStage.start(NAMES);
  for (const name of ['a', 'b', 'c', 'd', 'e']) {
    stage.push(gone(name));
    await stage.untilApplied();
  }
  await stage.world.restart();
  stage.push(README);
  await stage.untilApplied();
  await stage.world.until('Synced', 'True', 'Applied');
  await stage.world.until('RemovedWithoutTombstone', 'True', 'FileRemoved');
  stage.tell(PRUNES);
  await held(stage, 'has lost 5 of 12 applied manifests');
  await stage.world.until('RemovedWithoutTombstone', 'True', 'FileRemoved');
  expect(stage.deletes).toEqual([]);
}, 60_000);
