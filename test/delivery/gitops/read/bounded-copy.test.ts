import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { git, GitRemote, manifest } from './git-remote.ts';
import { SourceRun } from './source-run.ts';

const DIRECTORY = 'clusters/eu';
const COMMITS = 1000;

/** A long history of another cluster; then `main` goes on from it. */
function onLongHistory(remote: GitRemote): void {
  remote.push({ [`${DIRECTORY}/apps/shop/podinfo.yaml`]: manifest('podinfo') });
  const commits = Array.from({ length: COMMITS }, (_, index) => {
    const text = `generation: ${index}\n`;
    const from = index === 0 ? 'from refs/heads/main^0\n' : '';
    const file = `M 100644 inline clusters/us/apps/shop/x${index % 50}.yaml\ndata ${text.length}\n${text}\n`;
    return `commit refs/heads/main\ncommitter x <x@example.test> ${1_700_000_000 + index} +0000\ndata 2\nc\n${from}${file}`;
  });
  remote.importStream(commits.join(''));
}

/** Puts a commit with the present tree and these parents at the tip. */
function put(remote: GitRemote, ...parents: readonly string[]): string {
  const tree = git(remote.bare, 'rev-parse', 'main^{tree}');
  const made = git(remote.bare, 'commit-tree', '-m', 'made', ...parents.flatMap((parent) => ['-p', parent]), tree);
  git(remote.bare, 'update-ref', 'refs/heads/main', made);
  return made;
}

function objectsIn(run: SourceRun): number {
  const folder = join(run.stateDir, 'git');
  const copy = join(folder, readdirSync(folder)[0] ?? '');
  const format = '--batch-check=%(objecttype)';
  return git(copy, '-c', 'remote.origin.promisor=false', 'cat-file', '--batch-all-objects', format).split('\n').length;
}

/** One more commit at the tip, with one more file in the directory; `isFirst` in its stream. */
function adding(name: string, date: number, isFirst = true): string {
  const text = manifest(name);
  const from = isFirst ? 'from refs/heads/main^0\n' : '';
  const file = `M 100644 inline ${DIRECTORY}/apps/shop/${name}.yaml\ndata ${Buffer.byteLength(text)}\n${text}\n`;
  return `commit refs/heads/main\ncommitter x <x@example.test> ${date} +0000\ndata 2\nc\n${from}${file}`;
}

const inSeconds = (seconds: number): number => Math.floor(Date.now() / 1000) + seconds;

it('G8: a merge of a branch that began before the copy did brings that branch and not the history', async () => {
  using remote = new GitRemote();
  onLongHistory(remote);
  const tip = put(remote, 'main');
  await using run = new SourceRun(remote);
  run.tell({ desiredRevision: remote.treeOf(DIRECTORY) });
  expect((await run.next()).objects).toHaveLength(1);
  const first = objectsIn(run);
  const tree = 'main^{tree}';
  put(remote, tip, git(remote.bare, 'commit-tree', '-m', 'side', '-p', 'main~10', tree));
  put(remote, 'main', git(remote.bare, 'commit-tree', '-m', 'other', '-p', 'main~500', tree));
  remote.importStream(adding('x', inSeconds(60)));
  run.tell({ desiredRevision: remote.treeOf(DIRECTORY) });
  expect((await run.next()).objects).toHaveLength(2);
  expect(objectsIn(run) - first).toBeLessThan(60);
  expect(run.rewrites).toEqual([]);
}, 60_000);

it('commits that claim to be older than what they stand on are read, and are no rewrite', async () => {
  using remote = new GitRemote();
  onLongHistory(remote);
  put(remote, 'main');
  await using run = new SourceRun(remote);
  run.tell({ desiredRevision: remote.treeOf(DIRECTORY) });
  await run.next();
  const next = async (stream: string): Promise<number> => {
    remote.importStream(stream);
    run.tell({ desiredRevision: remote.treeOf(DIRECTORY) });
    return (await run.next()).objects.length;
  };
  expect(await next(adding('a', 1_600_000_000))).toBe(2);
  expect(await next(adding('b', inSeconds(60)))).toBe(3);
  expect(await next(`${adding('c', 1_600_000_000)}${adding('d', inSeconds(120), false)}`)).toBe(5);
  expect(run.rewrites).toEqual([]);
  // Some of the commits before came too, and not all of them.
  expect(objectsIn(run)).toBeLessThan(1500);
}, 60_000);
