import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { filePatches } from '../../../src/control-plane/history/file-patches.ts';
import { git } from '../../git/git-server.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'patches-'));
  await git(folder, ['init', '--quiet', '--initial-branch=main']);
});
afterEach(async () => await rm(folder, { recursive: true, force: true }));

it('shows the small files beside one that is too large', async () => {
  for (const name of ['a', 'c', 'd', 'e']) await writeFile(join(folder, name), `${name}\n`);
  await writeFile(join(folder, 'b'), 'large\n'.repeat(50_000));
  await git(folder, ['add', '-A']);
  await git(folder, ['commit', '--quiet', '-m', 'x']);
  const signal = AbortSignal.timeout(10_000);
  const query = async (args: readonly string[]): Promise<string> =>
    `${await git(folder, args, { maxOutputBytes: 100_000, signal })}\n`;
  const { files, truncated } = await filePatches(query, { from: undefined, to: 'HEAD' }, signal);
  expect(truncated).toBe(true);
  expect(files.map(({ path, patch }) => [path, patch?.split('\n').at(-2)])).toEqual([
    ['a', '+a'],
    ['b', undefined],
    ['c', '+c'],
    ['d', '+d'],
    ['e', '+e'],
  ]);
});
