import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { ZERO_ID } from '../../src/git/git-object.ts';
import { pushPack } from '../../src/git/receive-pack.ts';
import { Secret } from '../../src/runtime/secret.ts';
import { git, gitFailure, startGitServer, type GitServer } from './git-server.ts';

const BRANCH = 'refs/heads/proposals/prod-eu/intent-1';

let server: GitServer;
let work: string;

beforeAll(async () => {
  server = await startGitServer();
  await server.host.ensureRepository('acme', { branch: 'main' });
  const scoped = (token: string, clusterId: string, directory: string): unknown =>
    server.tokens.set(token, { repository: 'acme', access: { access: 'write', scope: [{ clusterId, directory }] } });
  scoped('eu', 'c-eu', 'clusters/prod-eu');
  scoped('us', 'c-us', 'clusters/5f/prod-us');
  work = join(server.folder, 'work');
  await git(server.folder, ['clone', '--quiet', '--shared', server.path('acme'), work]);
});

afterAll(async () => {
  await git(server.path('acme'), ['fsck', '--strict', '--no-dangling']);
  await server[Symbol.asyncDispose]();
});

beforeEach(async () => {
  await git(work, ['checkout', '--quiet', '--force', '-B', 'main', await ref('main')]);
  for (const line of (await git(server.path('acme'), ['for-each-ref', '--format=%(refname)', 'refs/heads/proposals']))
    .split('\n')
    .filter((name) => name !== '')) {
    await git(server.path('acme'), ['update-ref', '-d', line]);
  }
});

async function ref(name: string): Promise<string> {
  return git(server.path('acme'), ['rev-parse', name]);
}

let serial = 0;

async function commit(cluster: string, path = `clusters/prod-eu/apps/shop/app.yaml`): Promise<string> {
  serial += 1;
  await mkdir(dirname(join(work, path)), { recursive: true });
  await writeFile(join(work, path), `text ${serial}\n`);
  await git(work, ['add', '-A']);
  await git(work, ['commit', '--quiet', '-m', 'a change', '-m', `Cluster-Id: ${cluster}`]);
  return git(work, ['rev-parse', 'HEAD']);
}

async function push(token: string, ...args: readonly string[]): Promise<string> {
  return git(work, ['push', server.remote('acme', token), ...args]);
}

async function refusal(token: string, ...args: readonly string[]): Promise<string> {
  return gitFailure(work, ['push', server.remote('acme', token), ...args]);
}

describe('a push to the branch of a proposal', () => {
  it('makes, rewrites and deletes it, for a credential of the cluster in its name', async () => {
    const main = await ref('main');
    const first = await commit('c-eu');
    await push('eu', `HEAD:${BRANCH}`);
    expect(await ref(BRANCH)).toBe(first);
    await git(work, ['reset', '--quiet', '--hard', 'main~1']);
    const second = await commit('c-eu');
    await push('eu', `--force-with-lease=${BRANCH}:${first}`, `HEAD:${BRANCH}`);
    expect(await ref(BRANCH)).toBe(second);
    await push('eu', `--force-with-lease=${BRANCH}:${second}`, `:${BRANCH}`);
    expect(await git(server.path('acme'), ['for-each-ref', 'refs/heads/proposals'])).toBe('');
    expect(await ref('main')).toBe(main);
  });

  it('may stand on a commit that the shared branch has left behind since', async () => {
    const base = await ref('main');
    await commit('c-eu', 'clusters/prod-eu/apps/shop/landed.yaml');
    await push('eu', 'HEAD:main');
    await git(work, ['reset', '--quiet', '--hard', base]);
    const proposed = await commit('c-eu');
    await push('eu', `HEAD:${BRANCH}`);
    expect(await ref(BRANCH)).toBe(proposed);
  });

  it('works for a cluster whose directory is in a shard', async () => {
    await commit('c-us', 'clusters/5f/prod-us/apps/shop/app.yaml');
    await push('us', 'HEAD:refs/heads/proposals/prod-us/intent-2');
    expect(await ref('refs/heads/proposals/prod-us/intent-2')).toBe(await git(work, ['rev-parse', 'HEAD']));
  });

  it.each([
    ['another cluster’s', 'us', 'proposals/prod-eu/intent-1'],
    ['one without an intent', 'eu', 'proposals/prod-eu'],
    ['one further down', 'eu', 'proposals/prod-eu/intent-1/more'],
    ['one under another name', 'eu', 'proposal/prod-eu/intent-1'],
  ])('is refused for %s', async (_name, token, branch) => {
    await commit('c-eu');
    expect(await refusal(token, `HEAD:refs/heads/${branch}`)).toContain('only refs/heads/main is written here');
    expect(await git(server.path('acme'), ['for-each-ref', 'refs/heads/proposals'])).toBe('');
  });

  it('is refused where a commit leaves the directory of its cluster, or names another', async () => {
    const outside = await commit('c-eu', 'clusters/prod-us/apps/shop/app.yaml');
    expect(await refusal('eu', `HEAD:${BRANCH}`)).toContain(`refused: commit ${outside}: the path`);
    await git(work, ['reset', '--quiet', '--hard', 'main~1']);
    const foreign = await commit('c-us');
    expect(await refusal('eu', `HEAD:${BRANCH}`)).toContain(`refused: commit ${foreign}: its Cluster-Id "c-us"`);
  });

  it('is refused for a history that does not stand on the shared branch, and for a merge', async () => {
    await git(work, ['checkout', '--quiet', '--orphan', 'elsewhere']);
    await git(work, ['rm', '--quiet', '-rf', '.']);
    await commit('c-eu');
    expect(await refusal('eu', `HEAD:${BRANCH}`)).toContain('non-fast-forward');
    await git(work, ['checkout', '--quiet', '--force', '-B', 'main', await ref('main')]);
    await git(work, ['merge', '--quiet', '--allow-unrelated-histories', '-m', 'both\n\nCluster-Id: c-eu', 'elsewhere']);
    expect(await refusal('eu', `HEAD:${BRANCH}`)).toMatch(/non-fast-forward|it is a merge/);
  });

  it('is refused from another head than the branch has, also to delete it', async () => {
    const first = await commit('c-eu');
    await push('eu', `HEAD:${BRANCH}`);
    const stale = await ref('main');
    await git(work, ['reset', '--quiet', '--hard', 'main~1']);
    await commit('c-eu');
    for (const source of ['HEAD', '']) {
      await refusal('eu', `--force-with-lease=${BRANCH}:${stale}`, `${source}:${BRANCH}`);
      expect(await ref(BRANCH)).toBe(first);
    }
  });

  it('is deleted from no other head than it has, whatever the client leaves out', async () => {
    const first = await commit('c-eu');
    await push('eu', `HEAD:${BRANCH}`);
    const remote = { url: server.remote('acme'), fetchLike: fetch, timeoutMs: 10_000 };
    const credential = { username: 'x', password: new Secret('eu') };
    for (const oldId of [undefined, await ref('main')]) {
      const deletion = {
        ref: BRANCH,
        oldId,
        newId: ZERO_ID,
        pack: Buffer.alloc(0),
        capabilities: new Set(['report-status']),
      };
      const answer = await pushPack(remote, deletion, credential, AbortSignal.timeout(10_000));
      expect(answer).toMatchObject({ state: 'rejected', rejection: 'moved' });
      expect(await ref(BRANCH)).toBe(first);
    }
  });

  it('opens no way to rewrite or to delete the shared branch', async () => {
    await commit('c-eu', 'clusters/prod-eu/apps/shop/kept.yaml');
    await push('eu', 'HEAD:main');
    const main = await ref('main');
    await git(work, ['reset', '--quiet', '--hard', 'main~1']);
    await commit('c-eu');
    expect(await refusal('eu', '--force', 'HEAD:main')).toMatch(/fetch first|non-fast-forward/);
    expect(await refusal('eu', ':main')).toContain('deleting refs/heads/main is not allowed');
    expect(await ref('main')).toBe(main);
  });
});
