import { describe, expect, it } from 'vitest';
import { directoryFiles } from '../../src/delivery/gitops/read/read-directory.ts';
import { GitRemote, manifest } from '../delivery/gitops/read/git-remote.ts';
import { SourceRun } from '../delivery/gitops/read/source-run.ts';
import { git } from '../git/git-server.ts';

describe("G6: in the operator's reader", () => {
  const read = (mode: string, type: string, path: string): unknown =>
    directoryFiles([{ mode, type, id: 'a'.repeat(40), path: `clusters/prod-eu/${path}` }], 'clusters/prod-eu/');

  it.each([
    ['120000', 'clusters'],
    ['160000', 'clusters'],
    ['120000', 'clusters/33'],
    ['160000', 'clusters/33'],
    ['120000', 'clusters/33/prod-eu'],
    ['160000', 'clusters/33/prod-eu'],
  ])('takes a %s at %s for a fault, and not for a directory that is gone', async (mode, at) => {
    using remote = new GitRemote();
    const path = 'clusters/33/prod-eu';
    remote.push({ [`${path}/apps/shop/podinfo.yaml`]: manifest('podinfo') });
    await using run = new SourceRun(remote);
    run.tell({ path });
    expect((await run.next()).objects).toHaveLength(1);
    const env = { GIT_INDEX_FILE: `${remote.folder}/index` };
    const blob = await git(remote.bare, ['hash-object', '-w', '--stdin'], { input: 'elsewhere' });
    const entry = `${mode} ${mode === '160000' ? 'b'.repeat(40) : blob}\t${at}\n`;
    await git(remote.bare, ['update-index', '--index-info'], { env, input: entry });
    const tree = await git(remote.bare, ['write-tree'], { env });
    const commit = await git(remote.bare, ['commit-tree', tree, '-p', 'main', '-m', 'planted']);
    await git(remote.bare, ['update-ref', 'refs/heads/main', commit]);
    run.tell({ path, desiredRevision: 'c'.repeat(40) });
    const set = await run.next();
    expect(set).toMatchObject({
      scope: 'partial',
      objects: [],
      removals: [],
      faults: [{ reason: 'SourceUnreachable' }],
    });
    expect(set.faults[0]?.message).toContain(`${at} is not a directory`);
  });

  it('follows no link at any level and takes no file that is not in its place', () => {
    for (const path of [
      'apps',
      'apps/shop',
      'apps/shop/x.yaml',
      'operations',
      'tombstones/shop',
      'tombstones/shop/x.json',
    ]) {
      expect(read('120000', 'blob', path)).toMatchObject([{ kind: 'fault', fault: { reason: 'ManifestRefused' } }]);
      expect(read('160000', 'commit', path)).toMatchObject([{ kind: 'fault', fault: { reason: 'ManifestRefused' } }]);
    }
    for (const path of ['apps/x.yaml', 'apps/shop/deep/x.yaml', 'apps/shop/x.yml', 'tombstones/shop/x.yaml']) {
      expect(read('100644', 'blob', path)).toMatchObject([{ kind: 'fault', fault: { reason: 'ManifestRefused' } }]);
    }
    // A twin of our folder: moved by a slip, so it is said once for the folder.
    expect(read('100644', 'blob', 'Apps/shop/x.yaml')).toMatchObject([{ kind: 'fault', key: 'Apps' }]);
    // People's own: not read at all.
    for (const path of ['notes.md', 'Apps/x.md', 'apps.yaml']) expect(read('100644', 'blob', path)).toEqual([]);
  });
});
