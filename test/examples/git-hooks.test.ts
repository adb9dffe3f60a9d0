import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { classifyRejection } from '../../src/git/rejection.ts';
import { git } from '../git/git-server.ts';
import { HookedHost } from './hooked-host.ts';

let hooked: HookedHost;
let folder: string;
let host: string;
let work: string;

beforeAll(async () => {
  hooked = await HookedHost.start();
  ({ folder, host, work } = hooked);
});
afterAll(async () => await hooked[Symbol.asyncDispose]());
beforeEach(async () => await hooked.begin());

const write: HookedHost['write'] = async (...of) => await hooked.write(...of);
const commit: HookedHost['commit'] = async (...of) => await hooked.commit(...of);
const push: HookedHost['push'] = async (...of) => await hooked.push(...of);
const refusal: HookedHost['refusal'] = async (...of) => await hooked.refusal(...of);
const fresh = (slug = 'prod-eu'): string => `clusters/${slug}/apps/shop/app-${hooked.serial}.yaml`;
const EU = 'Cluster-Id: c-eu';

describe('the update hook for other Git hosts', () => {
  it('lets commits through that stay in the directory of their cluster, many at once, in little time', async () => {
    const base = await git(work, ['rev-parse', 'HEAD']);
    const stream = Array.from({ length: 200 }, (_, index) => {
      const [slug, id] = index % 2 === 0 ? ['prod-eu', 'c-eu'] : ['prod-us', 'c-us'];
      const message = `change ${index}\n\nCluster-Id: ${id}\n`;
      const from = index === 0 ? `from ${base}\n` : '';
      const file = `M 100644 inline clusters/${slug}/apps/shop/burst-${index}.yaml\ndata 2\nx\n`;
      return `commit refs/heads/main\ncommitter P <p@example.test> ${1_700_000_000 + index} +0000\ndata ${message.length}\n${message}${from}${file}\n`;
    });
    await git(work, ['fast-import', '--quiet', '--force'], { input: stream.join('') });
    await git(work, ['reset', '--quiet', '--hard', 'main']);
    await write('clusters/prod-eu/README.md');
    const tip = await commit(EU);
    await push();
    expect(await git(host, ['rev-parse', 'main'])).toBe(tip);
  });

  it.each([
    ['GL_USERNAME', { GL_USERNAME: 'control-plane', REMOTE_USER: 'someone' }],
    ['GITEA_PUSHER_NAME', { GITEA_PUSHER_NAME: 'control-plane' }],
    ['REMOTE_USER', { REMOTE_USER: 'control-plane' }],
  ])('knows its pusher by %s', async (_name, env) => {
    await write('elsewhere.txt');
    const id = await commit(EU);
    expect(await refusal(['main'], env)).toContain(`refused: commit ${id}: the path elsewhere.txt lies outside`);
  });

  it('leaves others to the host, unless nobody else may push', async () => {
    await write(`by-people-${hooked.serial}.txt`);
    await commit();
    await push(['main'], { REMOTE_USER: 'alice' });
    await write(`by-people-again-${hooked.serial}.txt`);
    await commit();
    await git(host, ['config', 'scope.onlywriter', 'true']);
    expect(await refusal(['main'], { REMOTE_USER: 'alice' })).toContain(
      'only control-plane pushes here, and you are alice',
    );
    await git(host, ['config', '--unset', 'scope.onlywriter']);
  });

  it('lets proposals be pushed, rewritten and deleted, each held to its directory', async () => {
    await write(fresh());
    await commit(EU);
    const branch = `HEAD:refs/heads/proposals/prod-eu/int-${hooked.serial}`;
    await push([branch]);
    await git(work, ['commit', '--quiet', '--amend', '-m', `rendered anew\n\n${EU}`]);
    await push(['--force', branch]);
    await write(fresh('prod-us'));
    const id = await commit(EU);
    expect(await refusal([branch])).toContain(`refused: commit ${id}: the path ${fresh('prod-us')} lies outside`);
    await git(work, ['checkout', '--quiet', '--orphan', `apart-${hooked.serial}`]);
    await git(work, ['rm', '-r', '--quiet', '--force', '.']);
    await write(fresh());
    const orphan = await commit(EU);
    expect(await refusal(['--force', branch])).toContain(`commit ${orphan}: it does not stand on the branch`);
    await push([`:refs/heads/proposals/prod-eu/int-${hooked.serial}`]);
  });

  it.each<readonly [string, () => Promise<void>, readonly string[], string]>([
    [
      'a path of another cluster',
      async () => await write(fresh('prod-us')),
      [EU],
      'lies outside clusters/prod-eu, the directory of c-eu',
    ],
    [
      'a directory whose name only begins alike',
      async () => await write('clusters/prod-eu-2/x.yaml'),
      [EU],
      'lies outside',
    ],
    ['no Cluster-Id', async () => await write(fresh()), [], 'it has no Cluster-Id trailer'],
    [
      'two Cluster-Ids',
      async () => await write(fresh()),
      [EU, 'Cluster-Id: c-us'],
      'it has more than one Cluster-Id trailer',
    ],
    [
      'a cluster without a directory',
      async () => await write(fresh()),
      ['Cluster-Id: c-xx'],
      'its Cluster-Id c-xx has no directory here',
    ],
    [
      'upper-case names',
      async () => await write('clusters/prod-eu/apps/Shop/x.yaml'),
      [EU],
      'has a name that is not allowed',
    ],
    [
      'a name with a leading dot',
      async () => await write('clusters/prod-eu/.gitattributes'),
      [EU],
      'has a name that is not allowed',
    ],
    [
      'a short name of .git',
      async () => await write('clusters/prod-eu/git~1/x'),
      [EU],
      'has a name that is not allowed',
    ],
    [
      'a name with a line break',
      async () => await write('clusters/prod-eu/apps/a\nclusters.yaml'),
      [EU],
      'holds characters that are not allowed',
    ],
    [
      'a name beyond ASCII',
      async () => await write('clusters/prod-eu/apps/ä.yaml'),
      [EU],
      'holds characters that are not allowed',
    ],
    [
      'a symbolic link',
      async () => {
        await write(fresh());
        await symlink('../../../prod-us', join(work, 'clusters/prod-eu/apps/link.yaml'));
        await git(work, ['add', '-A']);
      },
      [EU],
      'is a symbolic link',
    ],
    [
      'a submodule',
      async () => {
        const head = await git(work, ['rev-parse', 'HEAD']);
        await git(work, ['update-index', '--add', '--cacheinfo', `160000,${head},clusters/prod-eu/apps/sub`]);
      },
      [EU],
      'is a submodule',
    ],
    [
      'an executable file',
      async () => {
        await write(fresh());
        await git(work, ['update-index', '--chmod=+x', fresh()]);
      },
      [EU],
      'has the file mode 100755',
    ],
    [
      'the removal of what is elsewhere',
      async () => {
        await git(work, ['rm', '--quiet', 'README.md']);
      },
      [EU],
      'the path README.md lies outside',
    ],
  ])('refuses %s, naming the commit, so that the writer leaves it out', async (_name, stage, trailers, expected) => {
    await stage();
    const id = await commit(...trailers);
    const text = await refusal();
    expect(text).toContain(expected);
    const line = text.split('\n').find((candidate) => candidate.includes(`refused: commit ${id}: `));
    expect(line).toContain(expected);
    expect(classifyRejection('hook declined', text)).toBe('refused');
  });

  it('refuses an empty directory beside the cluster’s own', async () => {
    const empty = await git(work, ['mktree'], { input: '' });
    const clusters = await git(work, ['ls-tree', 'HEAD:clusters']);
    const tree = await git(work, ['mktree'], { input: `${clusters}\n040000 tree ${empty}\tprod-xx\n` });
    const root = await git(work, ['ls-tree', 'HEAD']);
    const next = root.replace(/tree [0-9a-f]{40}\tclusters$/m, `tree ${tree}\tclusters`);
    const whole = await git(work, ['mktree'], { input: `${next}\n` });
    const id = await git(work, ['commit-tree', whole, '-p', 'HEAD', '-m', `x\n\n${EU}`]);
    expect(await refusal([`${id}:refs/heads/main`])).toContain(`commit ${id}: the path clusters/prod-xx lies outside`);
  });

  it('refuses a commit that leaves its directory though the next one takes it back, and names only that one', async () => {
    await write(fresh('prod-us'));
    const bad = await commit(EU);
    await git(work, ['revert', '--no-edit', 'HEAD']);
    await git(work, ['commit', '--quiet', '--amend', '-m', `back\n\n${EU}`]);
    await write(fresh());
    const good = await commit(EU);
    const text = await refusal();
    expect(text).toContain(`refused: commit ${bad}: `);
    expect(text).not.toContain(good);
  });

  it('refuses a file that is moved out', async () => {
    await write(fresh());
    await commit(EU);
    await push();
    await mkdir(join(work, 'clusters/prod-us/apps/shop'), { recursive: true });
    await git(work, ['mv', fresh(), `clusters/prod-us/apps/shop/stolen-${hooked.serial}.yaml`]);
    const id = await commit(EU);
    expect(await refusal()).toContain(
      `refused: commit ${id}: the path clusters/prod-us/apps/shop/stolen-${hooked.serial}.yaml`,
    );
  });

  it('refuses merges, force, deletion, tags and other branches', async () => {
    await git(work, ['checkout', '--quiet', '-b', `side-${hooked.serial}`]);
    await write(fresh());
    await commit(EU);
    await git(work, ['checkout', '--quiet', 'main']);
    await write(fresh('prod-us'));
    await commit('Cluster-Id: c-us');
    await git(work, ['merge', '--quiet', '--no-ff', '-m', `merge\n\n${EU}`, `side-${hooked.serial}`]);
    expect(await refusal()).toContain('it is a merge');
    await git(work, ['reset', '--quiet', '--hard', 'origin/main~1']);
    const rewritten = await refusal(['--force', 'main']);
    expect(rewritten).toContain('non-fast-forward');
    expect(classifyRejection('hook declined', rewritten)).toBe('moved');
    expect(await refusal([':main'])).toContain('deleting main is not allowed');
    expect(await refusal(['HEAD:refs/tags/v1'])).toContain('refs/tags/v1 is not written by control-plane');
    expect(await refusal(['HEAD:refs/heads/other'])).toContain('refs/heads/other is not written by control-plane');
    expect(await refusal(['HEAD^{tree}:refs/heads/proposals/prod-eu/tree'])).toMatch(
      /must name a commit|cannot update/,
    );
  });

  it('refuses everything while it is not set up, or its list makes no sense', async () => {
    await write(fresh());
    await commit(EU);
    const map = await git(host, ['config', 'scope.map']);
    for (const [value, expected] of [
      [join(folder, 'nowhere'), 'cannot be read'],
      [join(folder, 'bad.map'), 'a line of the list of directories is not'],
      ['', 'no cluster has a directory here'],
    ] as const) {
      await writeFile(join(folder, 'bad.map'), 'c-eu ../x\n');
      await git(host, ['config', 'scope.map', value]);
      expect(await refusal()).toContain(expected);
    }
    await git(host, ['config', 'scope.directory', 'c-eu clusters/prod-eu']);
    await push();
    await git(host, ['config', 'scope.map', map]);
    await write(`clusters/prod-eu/again-${hooked.serial}.yaml`);
    await commit(EU);
    await git(host, ['config', '--unset', 'scope.writer']);
    expect(await refusal()).toContain('the hook is not set up');
    await git(host, ['config', 'scope.writer', 'control-plane']);
  });
});
