import { rmSync, writeFileSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { DesiredSet } from '../../../../src/delivery/delivery.ts';
import { git, GitRemote, manifest, tombstone } from './git-remote.ts';
import { SourceRun } from './source-run.ts';

const DIRECTORY = 'clusters/eu';

function names(set: DesiredSet): string[] {
  return set.objects.map(
    ({ key, object }) => `${key}=${object.kind} ${object.metadata.namespace}/${object.metadata.name}`,
  );
}

async function copyOf(run: SourceRun): Promise<string> {
  const [copy = ''] = await readdir(join(run.stateDir, 'git'));
  return join(run.stateDir, 'git', copy);
}

/** Contents that the copy holds. Without a promisor git cannot fetch one just because it is asked. */
function blobsIn(copy: string): string[] {
  const format = '--batch-check=%(objecttype) %(objectname)';
  const all = git(copy, '-c', 'remote.origin.promisor=false', 'cat-file', '--batch-all-objects', format);
  return all.split('\n').filter((line) => line.startsWith('blob '));
}

describe('a Git source', () => {
  it('reads manifests and tombstones of its directory, and names the directory by its tree id', async () => {
    using remote = new GitRemote();
    remote.push({
      [`${DIRECTORY}/README.md`]: 'hello',
      [`${DIRECTORY}/apps/shop/podinfo.yaml`]: manifest('podinfo'),
      [`${DIRECTORY}/tombstones/shop/old.json`]: tombstone('old'),
      'clusters/us/apps/shop/other.yaml': manifest('other'),
    });
    await using run = new SourceRun(remote);
    run.tell();
    const set = await run.next();
    expect({ ...set, objects: names(set) }).toEqual({
      revision: remote.treeOf(DIRECTORY),
      scope: 'complete',
      objects: ['apps/shop/podinfo.yaml=ApplicationInstance shop/podinfo'],
      removals: [
        {
          key: 'tombstones/shop/old.json',
          tombstone: expect.objectContaining({ namespace: 'shop', name: 'old', intentId: 'int-9', generation: 2 }),
        },
      ],
      faults: [],
    });
  });

  it('fetches no content but that of its own directory, and no history', async () => {
    using remote = new GitRemote();
    for (let version = 1; version <= 5; version += 1) {
      const others = Array.from({ length: 20 }, (_, index) => [
        `clusters/us/apps/shop/app-${index}.yaml`,
        manifest(`app-${index}`, { version: `6.5.${version}` }),
      ]);
      remote.push({ ...Object.fromEntries(others), [`${DIRECTORY}/apps/shop/podinfo.yaml`]: manifest('podinfo') });
    }
    await using run = new SourceRun(remote);
    run.tell();
    await run.next();
    const copy = await copyOf(run);
    expect(blobsIn(copy)).toHaveLength(1);
    expect(git(copy, 'rev-list', '--count', 'refs/service/desired')).toBe('1');
    expect(git(copy, 'config', 'remote.origin.promisor')).toBe('true');
    expect(git(copy, 'config', 'remote.origin.partialclonefilter')).toBe('blob:none');
    expect(git(copy, 'sparse-checkout', 'list')).toBe(DIRECTORY);

    remote.push({
      'clusters/us/apps/shop/app-1.yaml': manifest('app-1', { version: '6.9.9' }),
      [`${DIRECTORY}/apps/shop/podinfo.yaml`]: manifest('podinfo', { version: '6.6.0' }),
    });
    run.tell();
    await run.next();
    expect(blobsIn(copy)).toHaveLength(2);
  });

  it('takes contents along with the fetch where the repository holds nothing but its directory', async () => {
    using remote = new GitRemote();
    remote.push({ 'README.md': 'hello', [`${DIRECTORY}/apps/shop/podinfo.yaml`]: manifest('podinfo') });
    await using run = new SourceRun(remote);
    run.tell();
    await run.next();
    const packs = async (): Promise<number> =>
      (await readdir(join(await copyOf(run), '.git/objects/pack'))).filter((name) => name.endsWith('.pack')).length;
    const before = await packs();
    remote.push({ [`${DIRECTORY}/apps/shop/podinfo.yaml`]: manifest('podinfo', { version: '6.6.0' }) });
    run.tell();
    const set = await run.next();
    expect(set.objects[0]?.object['spec']).toMatchObject({ chart: { version: '6.6.0' } });
    expect((await packs()) - before).toBe(1);
  });

  it('hands nothing over again while the directory stays as it is', async () => {
    using remote = new GitRemote();
    remote.push({ [`${DIRECTORY}/apps/shop/podinfo.yaml`]: manifest('podinfo') });
    await using run = new SourceRun(remote);
    run.tell();
    const first = await run.next();
    remote.push({ 'clusters/us/apps/shop/other.yaml': manifest('other') });
    run.tell();
    await run.atRest();
    // The fallback poll finds another commit and the same tree.
    run.clock.advance(400_000);
    await run.atRest();
    remote.push({ [`${DIRECTORY}/apps/shop/second.yaml`]: manifest('second') });
    run.tell();
    const second = await run.next();
    expect([first.objects.length, second.objects.length]).toEqual([1, 2]);
  });

  it('finds a commit that nobody told it of at its next poll', async () => {
    using remote = new GitRemote();
    remote.push({ [`${DIRECTORY}/apps/shop/podinfo.yaml`]: manifest('podinfo') });
    await using run = new SourceRun(remote);
    run.tell();
    await run.next();
    remote.push({ [`${DIRECTORY}/apps/shop/second.yaml`]: manifest('second') });
    const set = await run.nextInTime(100_000);
    expect(set.objects).toHaveLength(2);
  });

  it('asks again when the remote does not show yet what the control plane named', async () => {
    using remote = new GitRemote();
    remote.push({ [`${DIRECTORY}/apps/shop/podinfo.yaml`]: manifest('podinfo') });
    await using run = new SourceRun(remote);
    run.tell({ desiredRevision: 'f'.repeat(40) });
    expect((await run.next()).objects).toHaveLength(1);
    await run.atRest();
    remote.push({ [`${DIRECTORY}/apps/shop/second.yaml`]: manifest('second') });
    run.clock.advance(30_000);
    expect((await run.next()).objects).toHaveLength(2);
  });

  it('waits for the first commit, and has its copy made by then', async () => {
    using remote = new GitRemote();
    await using run = new SourceRun(remote);
    run.update({ url: remote.url, branch: 'main', path: DIRECTORY });
    run.ask();
    await expect.poll(async () => readdir(join(run.stateDir, 'git')).catch(() => [])).toHaveLength(1);
    remote.push({ [`${DIRECTORY}/apps/shop/podinfo.yaml`]: manifest('podinfo') });
    run.tell();
    expect((await run.next()).objects).toHaveLength(1);
  });

  it('reads the whole repository where the directory is its root', async () => {
    using remote = new GitRemote();
    remote.push({ 'apps/shop/podinfo.yaml': manifest('podinfo') });
    await using run = new SourceRun(remote);
    run.tell({ path: '', desiredRevision: remote.treeOf('') });
    const set = await run.next();
    expect({ revision: set.revision, objects: names(set) }).toEqual({
      revision: remote.treeOf(''),
      objects: ['apps/shop/podinfo.yaml=ApplicationInstance shop/podinfo'],
    });
  });

  it.each([
    ['thrown away', (copy: string) => rmSync(copy, { recursive: true })],
    ['without its objects', (copy: string) => rmSync(join(copy, '.git/objects'), { recursive: true })],
    ['left with a lock by a crash', (copy: string) => writeFileSync(join(copy, '.git/refs/service/desired.lock'), '')],
    ['with nonsense for a configuration', (copy: string) => writeFileSync(join(copy, '.git/config'), '[[[')],
  ])('recovers from a copy that is %s', async (_, damage) => {
    using remote = new GitRemote();
    remote.push({ [`${DIRECTORY}/apps/shop/podinfo.yaml`]: manifest('podinfo') });
    await using run = new SourceRun(remote);
    run.tell();
    await run.next();
    damage(await copyOf(run));
    remote.push({ [`${DIRECTORY}/apps/shop/second.yaml`]: manifest('second') });
    run.tell();
    const set = await run.next();
    expect({ objects: names(set).length, faults: set.faults }).toEqual({ objects: 2, faults: [] });
  });
});
