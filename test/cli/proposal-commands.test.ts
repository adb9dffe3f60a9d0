import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { diffText } from '../../src/cli/proposal-text.ts';
import { servicectl } from '../../src/cli/servicectl.ts';
import { ReviewedCluster } from '../control-plane/proposals/reviewed-cluster.ts';
import { RunningControlPlane } from '../control-plane/running-control-plane.ts';

const folder = mkdtempSync(join(tmpdir(), 'proposal-commands-'));
let plane: RunningControlPlane;
let cluster: ReviewedCluster;

beforeAll(async () => {
  plane = await RunningControlPlane.start();
  cluster = await ReviewedCluster.create(plane, 'prod-eu');
});
afterAll(async () => await plane[Symbol.asyncDispose]());

/** `servicectl proposals …` as a person of that name; answers the exit status and all that was printed. */
async function run(by: string, ...args: string[]): Promise<[number, string]> {
  const file = join(folder, by);
  writeFileSync(file, by === 'admin' ? plane.token : await cluster.token(by));
  let text = '';
  const write = (part: string): void => void (text += part);
  const env = { SERVICECTL_SERVER: plane.url, SERVICECTL_TOKEN_FILE: file };
  return [await servicectl(['proposals', ...args], { out: write, err: write, env }), text];
}

it('lists, shows, comments on and approves a proposal, and prints a diff that git applies', async () => {
  const { id } = (await cluster.propose()) as { id: string };
  expect((await run('anna', 'list'))[1]).toMatch(new RegExp(`^${id} +prod-eu +open +1 +0/1 +admin +\\S`, 'm'));
  expect(await run('anna', 'comment', id)).toEqual([2, expect.stringContaining('--comment')]);
  expect(await run('anna', 'comment', id, '--comment', 'looks odd')).toEqual([
    0,
    `${id}: open, approved by 0, waits for 1 more\n`,
  ]);
  const [, shown] = await run('anna', 'show', id);
  expect(shown).toMatch(/^state +open$/m);
  expect(shown).toMatch(/^missing +1$/m);
  expect(shown).toContain('adds    apps/shop/');
  expect(shown).toContain('anna-prod-eu: comment of revision 1: looks odd');
  const [status, diff] = await run('anna', 'diff', id);
  expect([status, diff]).toEqual([0, expect.stringMatching(/^diff --git a\/clusters\/prod-eu\/.*\nnew file mode/m)]);
  expect(diff).not.toContain('\u001b');
  writeFileSync(join(folder, 'patch'), diff);
  execFileSync('git', ['init', '-q', folder]);
  execFileSync('git', ['-C', folder, 'apply', 'patch']);
  expect(readFileSync(join(folder, 'clusters/prod-eu/apps/shop/podinfo.yaml'), 'utf8')).toContain('podinfo');
  const [, json] = await run('anna', 'diff', id, '-o', 'json');
  expect(JSON.parse(json)).toMatchObject({ files: expect.any(Array), head: expect.stringMatching(/^[0-9a-f]{40}$/) });

  expect(await run('admin', 'approve', id, '--revision', '1')).toEqual([1, expect.stringContaining('(forbidden')]);
  // Which revision was looked at is not guessed.
  for (const verb of ['approve', 'merge']) {
    expect(await run('anna', verb, id)).toEqual([2, expect.stringContaining('now it is 1')]);
  }
  expect(await run('anna', 'approve', id, '--revision', '3')).toEqual([1, expect.stringContaining('(conflict')]);
  expect(await run('anna', 'approve', id, '--revision', 'x')).toEqual([2, expect.stringContaining('whole number')]);
  expect(await run('anna', 'approve', id, '--revision', '1')).toEqual([0, `${id}: merging\n`]);
  await cluster.until(id, 'merged');
  expect((await run('anna', 'list'))[1]).not.toContain(id);
  expect((await run('anna', 'list', '--state', 'all', '--cluster', 'prod-eu'))[1]).toContain(id);
});

it('rejects and withdraws, and says where to look for what is not there', async () => {
  const [first, second] = [await cluster.propose({ name: 'a' }), await cluster.propose({ name: 'b' })];
  expect(await run('anna', 'reject', first['id'], '--comment', 'no')).toEqual([0, `${first['id']}: rejected\n`]);
  expect(await run('admin', 'supersede', second['id'])).toEqual([0, `${second['id']}: superseded\n`]);
  expect(await run('anna', 'merge', 'prop-x')).toEqual([1, expect.stringContaining('servicectl proposals list')]);
});

it('colours a diff on a terminal alone', () => {
  const diff = { files: [{ path: 'a', status: 'modified', patch: '--- a/a\n+++ b/a\n@@ -1 +1 @@\n-x\n+y\n' }] };
  expect(diffText(diff, true)).toContain('\u001b[32m+y');
  expect(diffText(diff, false)).toBe('diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1 +1 @@\n-x\n+y\n');
});
