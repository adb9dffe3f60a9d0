import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { findCommitsOfIntents } from '../../../../src/delivery/gitops/write/recognise-commit.ts';
import { BranchInPlace } from '../../../../src/git/branch-in-place.ts';
import { git } from '../../../git/git-server.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'recognise-'));
  await git(folder, ['init', '--quiet', '--initial-branch=main']);
});
afterEach(async () => await rm(folder, { recursive: true, force: true }));

async function commit(subject: string, intent: string): Promise<string> {
  await git(folder, ['commit', '--quiet', '--allow-empty', '-m', subject, '-m', `Intent-Id: ${intent}`]);
  return await git(folder, ['rev-parse', 'HEAD']);
}

it('takes the commit that was first for an intent’s, however many copied its trailer since', async () => {
  const [first, second] = [await commit('ours', 'int-1'), await commit('ours', 'int-2')];
  for (let copy = 0; copy < 120; copy += 1) await commit('copied', 'int-1');
  const tip = await git(folder, ['rev-parse', 'HEAD']);
  await using branch = new BranchInPlace({ path: join(folder, '.git'), branch: 'main' });
  const requestedAt = new Date().toISOString();
  const intents = ['int-1', 'int-2', 'int-3'].map((id) => ({ id, requestedAt }));
  const found = await findCommitsOfIntents(branch, tip, intents, AbortSignal.timeout(10_000));
  expect(Object.fromEntries(found)).toEqual({ 'int-1': first, 'int-2': second });
});
