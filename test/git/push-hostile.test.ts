import { mkdtemp, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { EMPTY_TREE_ID } from '../../src/git/git-object.ts';
import { git, gitFailure, startGitServer, type GitServer } from './git-server.ts';

const SCOPE = [{ clusterId: 'c-eu', directory: 'clusters/prod-eu' }];
const DIRECTORY = '40000';
const FILE = '100644';

let server: GitServer;
let work: string;
let blob: string;

beforeAll(async () => {
  server = await startGitServer();
  for (const name of ['acme', 'other']) await server.host.ensureRepository(name, { branch: 'main' });
  server.tokens.set('eu', { repository: 'acme', access: { access: 'write', scope: SCOPE } });
  work = await mkdtemp(join(server.folder, 'work-'));
  await git(work, ['clone', '--quiet', server.remote('acme', 'eu'), '.']);
  for (const rule of ['core.protectHFS', 'core.protectNTFS']) await git(work, ['config', rule, 'false']);
  blob = await git(work, ['hash-object', '-w', '--stdin'], { input: 'x\n' });
});
afterAll(async () => await server[Symbol.asyncDispose]());

/** A tree of raw entries, whatever git thinks of their names and order. */
async function tree(...entries: readonly (readonly [string, string, string])[]): Promise<string> {
  const bytes = entries.map(([mode, name, id]) =>
    Buffer.concat([Buffer.from(`${mode} ${name}\0`), Buffer.from(id, 'hex')]),
  );
  return await git(work, ['hash-object', '-w', '-t', 'tree', '--literally', '--stdin'], {
    input: Buffer.concat(bytes),
  });
}

/** A commit on the branch's tip whose cluster directory is `inside`, with `beside` next to it. */
async function commitOf(
  inside: string,
  beside: readonly (readonly [string, string, string])[] = [],
  message = 'x',
): Promise<string> {
  const readme = await git(work, ['rev-parse', 'origin/main:README.md']);
  const clusters = await tree([DIRECTORY, 'prod-eu', inside], ...beside);
  const root = await tree([FILE, 'README.md', readme], [DIRECTORY, 'clusters', clusters]);
  return await git(work, ['commit-tree', root, '-p', 'origin/main', '-m', `${message}\n\nCluster-Id: c-eu`]);
}

async function refusal(id: string, remote = server.remote('acme', 'eu')): Promise<string> {
  const before = await git(server.path('acme'), ['for-each-ref']);
  const text = await gitFailure(work, ['push', remote, `${id}:refs/heads/main`]);
  expect(await git(server.path('acme'), ['for-each-ref'])).toBe(before);
  return text;
}

describe('a push that means harm', () => {
  it.each([
    ['.git by case', '.Git'],
    ['.git with a character that HFS+ ignores', '.g\u200cit'],
    ['.git at its end', '.git\u200d'],
    ['the short name of .git', 'git~1'],
    ['.git with a dot that NTFS drops', '.git.'],
    ['.git with a space that NTFS drops', '.git '],
    ['a stream of .git', '.git::$INDEX_ALLOCATION'],
    ['.gitmodules', '.gitmodules'],
    ['.gitattributes by case', '.GITATTRIBUTES'],
    ['the parent', '..'],
    ['itself', '.'],
    ['a slash in a name', 'a/b.yaml'],
    ['a backslash', 'a\\b.yaml'],
    ['a line break', 'a\nb.yaml'],
    ['a line that looks like the list’s own', 'x\ncommit 0000000000000000000000000000000000000000'],
    ['a tab', 'a\tb.yaml'],
    ['a quote', '"a.yaml'],
    ['letters beyond ASCII', 'ä.yaml'],
    ['a right-to-left override', 'a\u202e.yaml'],
    ['an escape sequence', 'a\u001b[2J.yaml'],
    ['a trailing dot', 'a.'],
    ['an upper-case twin', 'README.MD'],
  ])('gets no name into a tree that a file system may take for another: %s', async (_name, name) => {
    const text = await refusal(await commitOf(await tree([FILE, name, blob])));
    expect(text).toMatch(/refused: commit [0-9a-f]{40}: the path|unpacker error|unpack-objects|fsck/);
    expect(text).not.toContain('\u001b');
  });

  it.each([
    ['beside its directory', 'prod-zz'],
    ['as a twin of its directory by case', 'prod-eU'],
  ])('gets no empty directory in, which holds no file and still is a name: %s', async (_name, name) => {
    const inside = await tree([FILE, 'a.yaml', blob]);
    const beside = [DIRECTORY, name, EMPTY_TREE_ID] as const;
    const id = await commitOf(inside, [beside]);
    expect(await refusal(id)).toMatch(
      new RegExp(`refused: commit ${id}: the path clusters/${name} lies outside|treeNotSorted`),
    );
  });

  it('gets no empty directory with a bad name into its own', async () => {
    const id = await commitOf(await tree([DIRECTORY, 'Apps', EMPTY_TREE_ID]));
    expect(await refusal(id)).toContain(
      `refused: commit ${id}: the path clusters/prod-eu/Apps has a name that is not allowed`,
    );
  });

  it('cannot hide its cluster by a trailer in the body, by case, by folding or by another encoding', async () => {
    const inside = await tree([FILE, 'a.yaml', blob]);
    const readme = await git(work, ['rev-parse', 'origin/main:README.md']);
    const clusters = await tree([DIRECTORY, 'prod-us', inside]);
    const root = await tree([FILE, 'README.md', readme], [DIRECTORY, 'clusters', clusters]);
    const parent = await git(work, ['rev-parse', 'origin/main']);
    const who = 'A <a@example.test> 1700000000 +0000';
    const messages = [
      ['', 'x\n\nCluster-Id: c-us\n\nCluster-Id: c-eu\n'],
      ['', 'x\n\nCluster-Id: c-eu\ncluster-id: c-us\n'],
      ['', 'x\n\nCluster-Id: c-eu\n ,c-us\n'],
      ['', 'x\n\ncommit 0000000000000000000000000000000000000000\n\nCluster-Id: c-eu\n'],
      ['encoding UTF-7\n', 'x\n\n+AEM-luster-Id: c-us\nCluster-Id: c-eu\n'],
    ];
    for (const [encoding = '', message = ''] of messages) {
      const bytes = `tree ${root}\nparent ${parent}\nauthor ${who}\ncommitter ${who}\n${encoding}\n${message}`;
      const id = await git(work, ['hash-object', '-w', '-t', 'commit', '--literally', '--stdin'], { input: bytes });
      expect(await refusal(id)).toContain(`refused: commit ${id}: `);
    }
  });

  it('cannot use its credential for another repository, nor push the same thing twice', async () => {
    const id = await commitOf(await tree([FILE, 'sound.yaml', blob]));
    expect(await refusal(id, server.remote('other', 'eu'))).toMatch(/not found|No such repository/);
    await git(work, ['push', '--quiet', server.remote('acme', 'eu'), `${id}:refs/heads/main`]);
    // The very request again: the branch is not where it says.
    const parent = await git(work, ['rev-parse', `${id}^`]);
    const line = `${parent} ${id} refs/heads/main\0 report-status`;
    const pack = await git(work, ['pack-objects', '-q', '--revs', join(work, '.git/replay')], {
      input: `${id}\n^${parent}\n`,
    });
    const body = Buffer.concat([
      Buffer.from((line.length + 4).toString(16).padStart(4, '0') + line),
      Buffer.from('0000'),
      await readFile(join(work, `.git/replay-${pack}.pack`)),
    ]);
    const answer = await fetch(`${server.url}/git/acme.git/git-receive-pack`, {
      method: 'POST',
      body,
      headers: { authorization: `Basic ${btoa('any:eu')}`, 'content-type': 'application/x-git-receive-pack-request' },
    });
    expect(await answer.text()).toContain('ng refs/heads/main fetch first');
    expect(await git(server.path('acme'), ['rev-parse', 'main'])).toBe(id);
    expect(await git(server.path('acme'), ['fsck', '--strict', '--no-dangling'])).toBe('');
  });
});
