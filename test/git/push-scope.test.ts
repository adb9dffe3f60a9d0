import { mkdir, mkdtemp, readFile, rename, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { git, gitFailure, startGitServer, type GitServer } from './git-server.ts';

const SCOPE = [
  { clusterId: 'c-eu', directory: 'clusters/prod-eu' },
  { clusterId: 'c-us', directory: 'clusters/prod-us' },
];

let server: GitServer;
let work: string;

beforeAll(async () => {
  server = await startGitServer();
  await server.host.ensureRepository('acme', { branch: 'main' });
  server.tokens.set('eu', { repository: 'acme', access: { access: 'write', scope: SCOPE.slice(0, 1) } });
  server.tokens.set('both', { repository: 'acme', access: { access: 'write', scope: SCOPE } });
  server.tokens.set('read', { repository: 'acme', access: { access: 'read' } });
  // Shares the host's objects, so that it need not fetch to be at the tip.
  work = join(server.folder, 'work');
  await git(server.folder, ['clone', '--quiet', '--shared', server.path('acme'), work]);
  await git(work, ['config', 'core.protectHFS', 'false']);
});

afterAll(async () => {
  await server[Symbol.asyncDispose]();
});

beforeEach(async () => {
  const tip = await git(server.path('acme'), ['rev-parse', 'main']);
  await git(work, ['checkout', '--quiet', '--force', '-B', 'main', tip]);
  await git(work, ['clean', '-qfdx']);
});

async function write(path: string, text = `text of ${path}\n`): Promise<void> {
  await mkdir(dirname(join(work, path)), { recursive: true });
  await writeFile(join(work, path), text);
  await git(work, ['add', '-A']);
}

/** Commits what is staged; gives the commit's id. */
async function commit(cluster: string | undefined, subject = 'a change'): Promise<string> {
  const trailers = cluster === undefined ? [] : ['-m', `Cluster-Id: ${cluster}`];
  await git(work, ['commit', '--quiet', '--allow-empty', '-m', subject, ...trailers]);
  return git(work, ['rev-parse', 'HEAD']);
}

async function push(token = 'eu', ...args: readonly string[]): Promise<string> {
  return git(work, ['push', server.remote('acme', token), ...(args.length === 0 ? ['HEAD:main'] : args)]);
}

/** What the person who pushed is told; the branch is where it was. */
async function refusal(token = 'eu', ...args: readonly string[]): Promise<string> {
  const before = await git(server.path('acme'), ['rev-parse', 'main']);
  const text = await gitFailure(work, [
    'push',
    server.remote('acme', token),
    ...(args.length === 0 ? ['HEAD:main'] : args),
  ]);
  expect(await git(server.path('acme'), ['rev-parse', 'main'])).toBe(before);
  return text;
}

let serial = 0;
/** A path in the cluster's directory that no other test has. */
function fresh(cluster = 'prod-eu'): string {
  serial += 1;
  return `clusters/${cluster}/apps/shop/app-${serial}.yaml`;
}

describe('a push with a scoped credential', () => {
  it('is accepted where every commit stays in the directory of its Cluster-Id', async () => {
    await write(fresh());
    await commit('c-eu');
    await write(fresh('prod-us'));
    const last = await commit('c-us');
    await push('both');
    expect(await git(server.path('acme'), ['rev-parse', 'main'])).toBe(last);
    await git(server.path('acme'), ['fsck', '--strict']);
  });

  it('is refused when a commit leaves the directory, naming commit and path', async () => {
    await write(fresh('prod-us'));
    const id = await commit('c-eu');
    const text = await refusal();
    expect(text).toContain(
      `refused: commit ${id}: the path clusters/prod-us/apps/shop/app-${serial}.yaml lies outside clusters/prod-eu`,
    );
    expect(text).toContain('pre-receive hook declined');
  });

  it('is refused when a commit leaves the directory and the next one undoes it', async () => {
    await write('clusters/prod-us/apps/shop/left.yaml');
    const id = await commit('c-eu');
    await git(work, ['rm', '--quiet', 'clusters/prod-us/apps/shop/left.yaml']);
    await write(fresh());
    await commit('c-eu');
    expect(await refusal()).toContain(`refused: commit ${id}: the path clusters/prod-us/apps/shop/left.yaml`);
  });

  it('is refused when one cluster’s commit changes another one’s directory, though both are in scope', async () => {
    await write(fresh('prod-us'));
    const id = await commit('c-eu');
    expect(await refusal('both')).toContain(`commit ${id}: the path`);
  });

  it('names every commit at fault', async () => {
    await write(fresh('prod-us'));
    const first = await commit('c-eu');
    await write(fresh());
    const sound = await commit('c-eu');
    await write(fresh());
    const second = await commit(undefined);
    const text = await refusal();
    expect(text).toContain(`commit ${first}: the path`);
    expect(text).toContain(`commit ${second}: it has no Cluster-Id trailer`);
    expect(text).not.toContain(sound);
  });

  it('is refused for a merge', async () => {
    await git(work, ['checkout', '--quiet', '-B', 'side']);
    await write(fresh());
    await commit('c-eu');
    await git(work, ['checkout', '--quiet', 'main']);
    await write(fresh());
    await commit('c-eu');
    await git(work, ['merge', '--quiet', '--no-ff', '-m', 'merge\n\nCluster-Id: c-eu', 'side']);
    expect(await refusal()).toMatch(/it is a merge|non-fast-forward/);
  });

  it('is refused for a symbolic link', async () => {
    await mkdir(join(work, 'clusters/prod-eu/apps/shop'), { recursive: true });
    await symlink('../../../prod-us', join(work, 'clusters/prod-eu/apps/shop/link.yaml'));
    await git(work, ['add', '-A']);
    await commit('c-eu');
    expect(await refusal()).toContain('the path clusters/prod-eu/apps/shop/link.yaml is a symbolic link');
  });

  it('is refused for a submodule', async () => {
    const head = await git(work, ['rev-parse', 'HEAD']);
    await git(work, ['update-index', '--add', '--cacheinfo', `160000,${head},clusters/prod-eu/apps/sub`]);
    await commit('c-eu');
    expect(await refusal()).toContain('the path clusters/prod-eu/apps/sub is a submodule');
  });

  it('is refused for an executable file', async () => {
    const path = fresh();
    await write(path);
    await git(work, ['update-index', '--chmod=+x', path]);
    await commit('c-eu');
    expect(await refusal()).toContain('has the file mode 100755; only 100644 is accepted');
  });

  it('is refused when a file is moved out', async () => {
    const path = fresh();
    await write(path);
    await commit('c-eu');
    await push();
    await mkdir(join(work, 'clusters/prod-us'), { recursive: true });
    await rename(join(work, path), join(work, 'clusters/prod-us/stolen.yaml'));
    await git(work, ['add', '-A']);
    await commit('c-eu');
    expect(await refusal()).toContain('the path clusters/prod-us/stolen.yaml lies outside');
  });

  it('is refused when the directory itself becomes a file', async () => {
    await git(work, ['rm', '-r', '--quiet', '--ignore-unmatch', 'clusters']);
    await write('clusters/prod-eu', 'not a directory\n');
    await commit('c-eu');
    expect(await refusal()).toContain('the path clusters/prod-eu lies outside clusters/prod-eu');
  });

  it.each(['.git', '.GIT', '..'])('is refused for a tree with an entry named %s', async (name) => {
    const blob = await git(work, ['hash-object', '-w', '--stdin'], { input: 'x' });
    const inner = await rawTree(`100644 ${name}\0`, blob);
    const eu = await rawTree('40000 apps\0', inner);
    const clusters = await rawTree('40000 prod-eu\0', eu);
    const root = await rawTree('40000 clusters\0', clusters);
    const id = await git(work, ['commit-tree', root, '-p', 'HEAD', '-m', 'x\n\nCluster-Id: c-eu']);
    await git(work, ['reset', '--soft', id]);
    expect(await refusal()).toMatch(/unpacker error|unpack/);
  });

  it('is refused when it does not bring all that it links to', async () => {
    const tree = await git(work, ['mktree', '--missing'], { input: `100644 blob ${'ab'.repeat(20)}\tgone.yaml\n` });
    const eu = await git(work, ['mktree'], { input: `040000 tree ${tree}\tapps\n` });
    const clusters = await git(work, ['mktree'], { input: `040000 tree ${eu}\tprod-eu\n` });
    const root = await git(work, ['mktree'], { input: `040000 tree ${clusters}\tclusters\n` });
    const base = await git(work, ['rev-parse', 'HEAD']);
    const id = await git(work, ['commit-tree', root, '-p', base, '-m', 'x\n\nCluster-Id: c-eu']);
    const pack = await git(work, ['pack-objects', '-q', join(work, '.git', 'broken')], {
      input: [tree, eu, clusters, root, id].join('\n'),
    });
    const bytes = await readFile(join(work, '.git', `broken-${pack}.pack`));
    const line = `${base} ${id} refs/heads/main\0 report-status`;
    const body = Buffer.concat([
      Buffer.from((line.length + 4).toString(16).padStart(4, '0') + line),
      Buffer.from('0000'),
      bytes,
    ]);
    const response = await fetch(`${server.remote('acme')}/git-receive-pack`, {
      method: 'POST',
      body,
      headers: { authorization: `Basic ${btoa('any:eu')}`, 'content-type': 'application/x-git-receive-pack-request' },
    });
    expect(await response.text()).toContain('ng refs/heads/main unpacker error');
    expect(await git(server.path('acme'), ['rev-parse', 'main'])).toBe(base);
  });

  it.each([
    ['another branch', ['HEAD:refs/heads/other'], 'only refs/heads/main is written here'],
    ['a tag', ['HEAD:refs/tags/v1'], 'only refs/heads/main is written here'],
    ['a replacement', ['HEAD:refs/replace/x'], 'only refs/heads/main is written here'],
    ['two branches', ['HEAD:main', 'HEAD:refs/heads/other'], 'push one branch at a time'],
    ['a deletion', [':main'], 'deleting refs/heads/main is not allowed'],
  ])('is refused for %s', async (_name, args, expected) => {
    await write(fresh());
    await commit('c-eu');
    expect(await refusal('eu', ...args)).toContain(expected);
  });

  it('is refused when it would rewrite history, even by force', async () => {
    await write(fresh());
    await commit('c-eu');
    await push();
    await git(work, ['commit', '--quiet', '--amend', '-m', 'rewritten\n\nCluster-Id: c-eu']);
    expect(await refusal('eu', '--force', 'HEAD:main')).toContain('non-fast-forward');
    await git(work, ['reset', '--quiet', '--hard', 'HEAD~1']);
    expect(await refusal('eu', '--force', 'HEAD:main')).toContain('non-fast-forward');
    await git(work, ['checkout', '--quiet', '--orphan', 'elsewhere']);
    await git(work, ['rm', '-r', '--quiet', '-f', '.']);
    await write(fresh());
    await commit('c-eu');
    expect(await refusal('eu', '--force', 'HEAD:main')).toContain('non-fast-forward');
  });

  it('is refused with a read credential, in words', async () => {
    await write(fresh());
    await commit('c-eu');
    expect(await refusal('read')).toContain('This credential may only read');
  });

  it('takes 200 commits at once, and from a shallow clone', async () => {
    const shallow = await mkdtemp(join(server.folder, 'shallow-'));
    await git(server.folder, ['clone', '--quiet', '--depth=1', server.remote('acme', 'eu'), shallow]);
    const base = await git(shallow, ['rev-parse', 'HEAD']);
    const stream = Array.from({ length: 200 }, (_, index) => {
      const message = `change ${index}\n\nCluster-Id: c-eu\n`;
      const from = index === 0 ? `from ${base}\n` : '';
      return `commit refs/heads/main\ncommitter P <p@example.test> ${1_700_000_000 + index} +0000\ndata ${message.length}\n${message}${from}M 100644 inline clusters/prod-eu/apps/burst/app-${index}.yaml\ndata 2\nx\n\n`;
    }).join('');
    await git(shallow, ['fast-import', '--quiet', '--force'], { input: stream });
    await git(shallow, ['push', '--quiet', 'origin', 'main']);
    expect(await git(server.path('acme'), ['rev-list', '--count', `${base}..main`])).toBe('200');
    await git(server.path('acme'), ['fsck', '--strict']);
  });
});

async function rawTree(head: string, id: string): Promise<string> {
  const bytes = Buffer.concat([Buffer.from(head), Buffer.from(id, 'hex')]);
  return git(work, ['hash-object', '-w', '-t', 'tree', '--literally', '--stdin'], { input: bytes });
}
