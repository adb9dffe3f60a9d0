import { mkdtemp, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { moveBranch } from '../../src/git/embedded-host/move-branch.ts';
import { git } from './git-server.ts';

let repository: string;
let commits: readonly [string, string, string];
const ref = 'refs/heads/main';
const now = new Date('2026-01-01T00:00:00Z');

beforeEach(async () => {
  const folder = await mkdtemp(join(tmpdir(), 'git-move-'));
  repository = join(folder, 'x.git');
  await git(folder, ['init', '--quiet', '--bare', repository]);
  const tree = await git(repository, ['hash-object', '-w', '-t', 'tree', '--stdin'], { input: '' });
  const commit = async (message: string): Promise<string> => git(repository, ['commit-tree', tree, '-m', message]);
  commits = [await commit('a'), await commit('b'), await commit('c')];
  return async () => rm(folder, { recursive: true, force: true });
});

const move = async (oldId: string | undefined, newId: string): Promise<string | undefined> =>
  moveBranch({ repository, ref, oldId, newId, now });
const tip = async (): Promise<string> => git(repository, ['rev-parse', ref]);

describe('moveBranch', () => {
  it('makes a branch and moves it, as git sees it, and notes both', async () => {
    const [a, b] = commits;
    expect(await move(undefined, a)).toBeUndefined();
    expect(await move(a, b)).toBeUndefined();
    expect(await tip()).toBe(b);
    expect(await git(repository, ['reflog', '--format=%H %gs', ref])).toBe(`${b} push\n${a} push`);
    await git(repository, ['fsck', '--strict']);
  });

  it('moves nothing from where the branch is not', async () => {
    const [a, b, c] = commits;
    await move(undefined, a);
    expect(await move(b, c)).toBe(`cannot lock ref '${ref}': is at ${a} but expected ${b}`);
    expect(await move(undefined, c)).toBe(`cannot lock ref '${ref}': is at ${a} but expected ${'0'.repeat(40)}`);
    expect(await tip()).toBe(a);
    await expect(stat(join(repository, `${ref}.lock`))).rejects.toThrow('ENOENT');
  });

  it('knows a branch that was packed', async () => {
    const [a, b, c] = commits;
    await move(undefined, a);
    await git(repository, ['pack-refs', '--all', '--prune']);
    expect(await move(b, c)).toContain(`is at ${a} but expected ${b}`);
    expect(await move(a, b)).toBeUndefined();
    expect(await tip()).toBe(b);
  });

  it('lets one of many at once through', async () => {
    const [a, b, c] = commits;
    await move(undefined, a);
    const results = await Promise.all(Array.from({ length: 20 }, async (_, index) => move(a, index % 2 === 0 ? b : c)));
    expect(results.filter((result) => result === undefined).length).toBe(1);
  });

  it('respects the lock of a git command, and removes one that a crash left a minute ago', async () => {
    const [a, b] = commits;
    await move(undefined, a);
    const lock = join(repository, `${ref}.lock`);
    await writeFile(lock, '');
    await utimes(lock, now, new Date(now.getTime() - 59_000));
    expect(await move(a, b)).toContain('File exists. What a killed process left there is taken over a minute after');
    await utimes(lock, now, new Date(now.getTime() - 60_000));
    expect(await move(a, b)).toBeUndefined();
    expect(await tip()).toBe(b);
  });

  it('tells at most one of many that it moved the branch, when all find the lock of a crash', async () => {
    const [a] = commits;
    await move(undefined, a);
    const tree = await git(repository, ['rev-parse', `${a}^{tree}`]);
    const ids = await Promise.all(
      Array.from({ length: 12 }, async (_, index) => git(repository, ['commit-tree', tree, '-p', a, '-m', `${index}`])),
    );
    const lock = join(repository, `${ref}.lock`);
    for (let round = 0; round < 60; round += 1) {
      await git(repository, ['update-ref', ref, a]);
      await writeFile(lock, '');
      await utimes(lock, now, new Date(now.getTime() - 120_000));
      const results = await Promise.all(ids.map(async (id) => move(a, id)));
      const winners = ids.filter((_, index) => results[index] === undefined);
      expect(winners.length).toBeLessThanOrEqual(1);
      expect(await tip()).toBe(winners[0] ?? a);
      await rm(lock, { force: true });
    }
  });
});
