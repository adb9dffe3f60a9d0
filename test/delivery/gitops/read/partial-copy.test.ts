import { randomBytes } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { git, GitRemote, manifest } from './git-remote.ts';
import { GitHttp } from './git-http.ts';
import { SourceRun } from './source-run.ts';

const DIRECTORY = 'clusters/eu';

/** Many clusters' directories, each with an application of its own. */
function clusters(count: number, version = '6.5.0'): Record<string, string> {
  return Object.fromEntries(
    Array.from({ length: count }, (_, n) => [
      `clusters/c${n}/apps/shop/app.yaml`,
      manifest('app', { version: `${version}-${n}` }),
    ]),
  );
}

function copyOf(run: SourceRun): string {
  const folder = join(run.stateDir, 'git');
  return join(folder, readdirSync(folder)[0] ?? '');
}

/** `<type> <id>` of each object that the copy holds; git is kept from fetching one. */
function objectsIn(copy: string): string[] {
  const format = '--batch-check=%(objecttype) %(objectname)';
  return git(copy, '-c', 'remote.origin.promisor=false', 'cat-file', '--batch-all-objects', format).split('\n');
}

describe('the copy of a directory', () => {
  it('G8: of a huge repository with a deep history is bounded in bytes, objects and time, and stays so', async () => {
    using remote = new GitRemote();
    const ballast = (n: number): Record<string, Buffer> => ({ [`clusters/c${n}/ballast`]: randomBytes(20_000) });
    const others = Object.assign({}, ...Array.from({ length: 300 }, (_, n) => ballast(n))) as Record<string, Buffer>;
    remote.push({ ...clusters(300), ...others, [`${DIRECTORY}/apps/shop/podinfo.yaml`]: manifest('podinfo') });
    deepen(remote, 1000);
    const whole = packBytes(remote.bare);
    await using run = new SourceRun(remote);
    const started = performance.now();
    run.tell();
    expect((await run.next()).objects).toHaveLength(1);
    expect(performance.now() - started).toBeLessThan(10_000);
    await run.atRest();
    const copy = copyOf(run);
    const objects = objectsIn(copy);
    // One commit, the trees at the tip, one content.
    const trees = git(remote.bare, 'ls-tree', '-r', '-t', 'main')
      .split('\n')
      .filter((line) => line.includes(' tree ')).length;
    expect(objects.filter((line) => line.startsWith('commit'))).toHaveLength(1);
    expect(objects.filter((line) => line.startsWith('tree')).length).toBeLessThanOrEqual(trees + 1);
    expect(objects.filter((line) => line.startsWith('blob'))).toHaveLength(1);
    expect(packBytes(copy)).toBeLessThan(whole / 20);
    expect(run.copies.map(({ status, message }) => [status, message.replace(/: \d+ objects in \d+ KiB/, '')])).toEqual([
      ['True', "the copy holds the cluster's directory and no more, 1 contents"],
    ]);

    remote.push({ ...clusters(300, '6.6.0'), [`${DIRECTORY}/apps/shop/second.yaml`]: manifest('second') });
    run.tell();
    expect((await run.next()).objects).toHaveLength(2);
    expect(objectsIn(copy).filter((line) => line.startsWith('blob'))).toHaveLength(2);
  });

  it('takes the contents of its directory all at once, however many there are', async () => {
    using remote = new GitRemote();
    const own = Array.from({ length: 200 }, (_, n) => [`${DIRECTORY}/apps/shop/app-${n}.yaml`, manifest(`app-${n}`)]);
    remote.push({ ...clusters(5), ...(Object.fromEntries(own) as Record<string, string>) });
    await using host = await GitHttp.start(remote.folder);
    let requests = 0;
    host.refuse = () => {
      requests += 1;
      return false;
    };
    await using run = new SourceRun(remote);
    run.tell({ url: host.url });
    expect((await run.next()).objects).toHaveLength(200);
    // A greeting, the branch and the trees; a greeting and the contents.
    expect(requests).toBeLessThanOrEqual(6);
    expect(objectsIn(copyOf(run)).filter((line) => line.startsWith('blob'))).toHaveLength(200);
  });

  it('is said to be whole where the Git host does not filter, and is read all the same', async () => {
    using remote = new GitRemote();
    git(remote.bare, 'config', 'uploadpack.allowFilter', 'false');
    remote.push({ ...clusters(10), [`${DIRECTORY}/apps/shop/podinfo.yaml`]: manifest('podinfo') });
    await using run = new SourceRun(remote);
    run.tell();
    const { scope, objects } = await run.next();
    expect([scope, objects.length]).toEqual(['complete', 1]);
    await run.atRest();
    expect(run.copies).toEqual([
      {
        type: 'SourcePartial',
        status: 'False',
        reason: 'CopyNotPartial',
        message: expect.stringContaining(
          'the Git host does not filter (uploadpack.allowFilter), so it sends the whole tree',
        ),
      },
    ]);
    // Mended at the host: from the next fetch on it is partial, which the copy shows once it is made anew.
    git(remote.bare, 'config', 'uploadpack.allowFilter', 'true');
    remote.push({ [`${DIRECTORY}/apps/shop/second.yaml`]: manifest('second') });
    run.tell();
    await run.next();
    await run.atRest();
    expect(run.copies.map(({ status }) => status)).toEqual(['False', 'False']);
    expect(run.copies[1]?.message).toContain("10 of 12 contents lie outside the cluster's directory");
  });

  it('takes no contents of others from the moment its repository is not its own any more', async () => {
    using remote = new GitRemote();
    remote.push({ [`${DIRECTORY}/apps/shop/podinfo.yaml`]: manifest('podinfo') });
    await using run = new SourceRun(remote);
    run.tell();
    await run.next();
    remote.push({ ...clusters(5), [`${DIRECTORY}/apps/shop/second.yaml`]: manifest('second') });
    run.tell();
    await run.next();
    await run.atRest();
    // What came along with the one push that made it a shared repository.
    expect(run.copies.map(({ status }) => status)).toEqual(['True', 'False']);
    const before = objectsIn(copyOf(run)).filter((line) => line.startsWith('blob')).length;
    remote.push({ ...clusters(5, '6.6.0'), [`${DIRECTORY}/apps/shop/third.yaml`]: manifest('third') });
    run.tell();
    await run.next();
    expect(objectsIn(copyOf(run)).filter((line) => line.startsWith('blob'))).toHaveLength(before + 1);
  });
});

describe('looking at a remote that has nothing new', () => {
  it('asks for its branch and nothing else, told and untold, and where only others changed for no content', async () => {
    using remote = new GitRemote();
    remote.push({ ...clusters(5), [`${DIRECTORY}/apps/shop/podinfo.yaml`]: manifest('podinfo') });
    await using host = await GitHttp.start(remote.folder);
    const asked: string[] = [];
    host.refuse = ({ method, url }) => {
      asked.push(
        `${method} ${String(url)
          .replace(/^\/remote\.git\//, '')
          .replace(/\?.*$/, '')}`,
      );
      return false;
    };
    const counted = (): string[] => asked.splice(0);
    await using run = new SourceRun(remote);
    run.tell({ url: host.url });
    await run.next();
    await run.atRest();
    counted();
    // The same answer of /config once more.
    run.tell({ url: host.url });
    await run.settled();
    expect(counted()).toEqual([]);
    // A poll that nobody asked for: the protocol's greeting and the branch.
    run.clock.advance(400_000);
    await run.settled();
    expect(counted()).toEqual(['GET info/refs', 'POST git-upload-pack']);
    remote.push(clusters(5, '6.6.0'));
    run.clock.advance(400_000);
    await run.settled();
    // The branch; then, since it has moved, the branch and the commit with the trees that changed, as far as they are new.
    const once = ['GET info/refs', 'POST git-upload-pack'];
    expect(counted()).toEqual([...once, ...once, 'POST git-upload-pack']);
    expect(objectsIn(copyOf(run)).filter((line) => line.startsWith('blob'))).toHaveLength(1);
  });

  it('polls with a spread pause where no control plane names revisions, and is silent before there is a branch', async () => {
    using remote = new GitRemote();
    await using run = new SourceRun(remote, { random: () => 0.5 });
    run.update({ url: remote.url, branch: 'main', path: DIRECTORY });
    await run.atRest();
    remote.push({ 'README.md': 'no directory yet' });
    run.clock.advance(329_000);
    await run.settled();
    remote.push({ [`${DIRECTORY}/apps/shop/podinfo.yaml`]: manifest('podinfo') });
    run.clock.advance(2000);
    const set = await run.next();
    expect({ scope: set.scope, objects: set.objects.length, faults: set.faults }).toEqual({
      scope: 'complete',
      objects: 1,
      faults: [],
    });
    remote.push({ [`${DIRECTORY}/apps/shop/second.yaml`]: manifest('second') });
    await run.atRest();
    run.clock.advance(331_000);
    expect((await run.next()).objects).toHaveLength(2);
  });

  it('polls in time although something else rings all the while', async () => {
    using remote = new GitRemote();
    remote.push({ [`${DIRECTORY}/apps/shop/podinfo.yaml`]: manifest('podinfo') });
    await using run = new SourceRun(remote);
    run.tell();
    const { revision = '' } = await run.next();
    remote.push({ [`${DIRECTORY}/apps/shop/second.yaml`]: manifest('second') });
    for (let minute = 0; minute < 5; minute += 1) {
      await run.settled();
      run.clock.advance(60_000);
      run.tell({ desiredRevision: revision });
    }
    expect((await run.next()).objects).toHaveLength(2);
  });
});

function packBytes(repository: string): number {
  const counted = git(repository, '-c', 'remote.origin.promisor=false', 'count-objects', '-v');
  const sizes = [...counted.matchAll(/^size(?:-pack)?: (\d+)$/gm)].map(([, kib]) => Number(kib));
  return sizes.reduce((sum, kib) => sum + kib, 0) * 1024;
}

/** So many commits more, that change nothing in any cluster's directory. */
function deepen(remote: GitRemote, count: number): void {
  const stream = Array.from({ length: count }, (_, n) =>
    [
      'commit refs/heads/main',
      `committer A <a@example.com> ${1_700_000_000 + n} +0000`,
      'data 1',
      'x',
      ...(n === 0 ? ['from refs/heads/main^0'] : []),
      `M 100644 inline log`,
      `data ${String(n).length}`,
      String(n),
      '',
    ].join('\n'),
  ).join('\n');
  remote.importStream(stream);
}
