import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { MissingObjectError } from '../../src/git/branch-copy.ts';
import { commitObject } from '../../src/git/commit-object.ts';
import { Mirror } from '../../src/git/mirror.ts';
import { editTree } from '../../src/git/tree-edit.ts';
import { Secret } from '../../src/runtime/secret.ts';
import { git, startGitServer, type GitServer } from './git-server.ts';

let server: GitServer;
let path: string;
const signal = AbortSignal.timeout(60_000);
const credential = { username: 'x', password: new Secret('read') };

beforeEach(async () => {
  server = await startGitServer();
  await server.host.ensureRepository('acme', { branch: 'main' });
  server.tokens.set('read', { repository: 'acme', access: { access: 'read' } });
  path = join(server.folder, 'mirror.git');
  return async () => server[Symbol.asyncDispose]();
});

afterEach(async () => {
  await git(path, ['fsck', '--strict']);
});

function mirrorOf(branch = 'main'): Mirror {
  return new Mirror({ path, url: server.remote('acme'), branch, logger: pino({ level: 'silent' }) });
}

describe('Mirror', () => {
  it('fetches with a credential that stands in no argument, address or configuration', async () => {
    await using mirror = mirrorOf();
    const tip = await git(server.path('acme'), ['rev-parse', 'main']);
    expect(await mirror.fetch(credential, signal)).toEqual({ state: 'ok', tip });
    const tree = await mirror.readTree(await mirror.readTreeOfCommit(tip));
    const readme = tree.get('README.md')?.id ?? '';
    expect((await mirror.readBlob(readme)).toString('utf8')).toMatch(/^# Intent of clusters\n/);
    expect(await git(path, ['config', '--list', '--local'])).not.toMatch(/read|extraheader|http/i);
  });

  it('tells a wrong credential from a branch that is not there, and from a host that is not there', async () => {
    await using mirror = mirrorOf('other');
    expect(await mirror.fetch({ username: 'x', password: new Secret('wrong') }, signal)).toMatchObject({
      state: 'rejected',
      rejection: 'auth',
    });
    expect(await mirror.fetch(credential, signal)).toEqual({ state: 'ok', tip: undefined });
    server.intercept = () => 503;
    expect(await mirror.fetch(credential, signal)).toMatchObject({ state: 'rejected', rejection: 'unavailable' });
  });

  it('keeps what was pushed, in memory first and then on disk', async () => {
    const mirror = mirrorOf();
    const fetched = await mirror.fetch(credential, signal);
    const base = fetched.state === 'ok' ? (fetched.tip ?? '') : '';
    const root = await mirror.readTreeOfCommit(base);
    const { rootId, objects } = await editTree(mirror, root, [{ path: 'clusters/a/x', content: Buffer.from('x') }]);
    const identity = { name: 'x', email: 'x@example.test' };
    const commit = commitObject({ tree: rootId, parent: base, identity, at: new Date(), message: 'x\n' });
    mirror.keep([...objects, commit], commit.id);
    expect(await mirror.readTreeOfCommit(commit.id)).toBe(rootId);
    expect(await mirror.query(['log', '--format=%s', commit.id], signal)).toBe('x\nStart the repository\n');
    expect(await mirror.tip()).toBe(commit.id);
    await mirror[Symbol.asyncDispose]();
    await using again = mirrorOf();
    expect(await again.readTreeOfCommit(commit.id)).toBe(rootId);
    // The host never had it: fetching brings the mirror back to what the host has.
    expect(await again.fetch(credential, signal)).toEqual({ state: 'ok', tip: base });
  });

  it('says which object it lacks', async () => {
    await using mirror = mirrorOf();
    await expect(mirror.readTree('ab'.repeat(20))).rejects.toThrow(new MissingObjectError('ab'.repeat(20)));
    await mirror.fetch(credential, signal);
    const tip = (await mirror.tip()) ?? '';
    await expect(mirror.readTree(tip)).rejects.toThrow(MissingObjectError);
  });

  it('is made anew when its folder is damaged', async () => {
    {
      await using mirror = mirrorOf();
      await mirror.fetch(credential, signal);
    }
    await writeFile(join(path, 'refs/heads/main'), `${'1'.repeat(40)}\n`);
    await rm(join(path, 'objects'), { recursive: true });
    await using mirror = mirrorOf();
    const tip = await git(server.path('acme'), ['rev-parse', 'main']);
    expect(await mirror.fetch(credential, signal)).toEqual({ state: 'ok', tip });
    await mirror.readTreeOfCommit(tip);
  });

  it('reads many objects at once, in whatever order they are asked for', async () => {
    await using mirror = mirrorOf();
    await mirror.fetch(credential, signal);
    const tip = (await mirror.tip()) ?? '';
    const trees = await Promise.all(Array.from({ length: 300 }, async () => mirror.readTreeOfCommit(tip)));
    expect(new Set(trees).size).toBe(1);
  });
});
