import { expect, it } from 'vitest';
import { directoryFiles } from '../../../../src/delivery/gitops/read/read-directory.ts';
import type { TreeEntry } from '../../../../src/delivery/gitops/read/git-output.ts';
import { GitRemote, manifest } from './git-remote.ts';
import { SourceRun } from './source-run.ts';

const entry = (path: string): TreeEntry => ({ mode: '100644', type: 'blob', id: 'a'.repeat(40), path });

/** The keys of what is at fault, and how many files are read. */
function found(...paths: string[]): [string[], number] {
  const files = directoryFiles(paths.map(entry), '');
  return [
    files.filter(({ kind }) => kind === 'fault').map(({ key }) => key),
    files.filter((f) => f.kind === 'file').length,
  ];
}

it.each(['Apps', 'APPS', 'app', 'aps', 'appss', 'apsp', 'Operation', 'operatons'])(
  'takes %s/ with a manifest in it for a slip of the hand, once for all its files',
  (folder) => {
    expect(found(`${folder}/shop/a.yaml`, `${folder}/shop/b.yaml`, 'apps/shop/c.yaml')).toEqual([[folder], 1]);
  },
);

it('takes Tombstones/ for one too, and leaves what else a person keeps there alone', () => {
  expect(found('Tombstones/shop/a.json')).toEqual([['Tombstones'], 0]);
  expect(found('app/README.md', 'app/deep/er/a.yaml', 'app/a.yaml', 'scripts/shop/a.yaml', 'notes/x.yaml')).toEqual([
    [],
    0,
  ]);
});

it.each(['Apps', 'app'])('lets nothing go for files that were moved to %s/', async (folder) => {
  const path = 'clusters/eu';
  const names = 'abcdefghijkl'.split('');
  using remote = new GitRemote();
  remote.push(Object.fromEntries(names.map((name) => [`${path}/apps/shop/${name}.yaml`, manifest(name)])));
  await using run = new SourceRun(remote);
  run.tell({ pruneOnRemoval: true });
  expect((await run.next()).faults).toEqual([]);
  remote.push({ [`${path}/apps/shop/a.yaml`]: null, [`${path}/${folder}/shop/a.yaml`]: manifest('a') });
  run.tell({ pruneOnRemoval: true });
  const { prunes, faults, objects } = await run.next();
  expect([prunes, objects.length]).toEqual([undefined, 11]);
  expect(faults.map(({ reason }) => reason).sort()).toEqual(['ManifestRefused', 'RemovalsHeld']);
  expect(faults.find(({ reason }) => reason === 'ManifestRefused')?.message).toBe(
    `${folder}: is not apps, so what is in it is not read (${folder}/shop/a.yaml); rename it to apps, or to what nobody takes for that`,
  );
});
