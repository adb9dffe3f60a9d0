import { readdir, readFile } from 'node:fs/promises';
import { request as httpRequest } from 'node:http';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { git, gitFailure, type GitServer } from './git-server.ts';
import { fetchGit, startAcmeHost } from './acme-host.ts';

let server: GitServer;

beforeAll(async () => {
  server = await startAcmeHost();
});

afterAll(async () => {
  await server[Symbol.asyncDispose]();
});

const UPLOAD = 'info/refs?service=git-upload-pack';
const RECEIVE = 'info/refs?service=git-receive-pack';

const get = async (path: string, token?: string, init: RequestInit = {}): Promise<Response> =>
  await fetchGit(server, path, token, init);

/** Sends a path as it is; `fetch` would tidy it up. */
async function rawStatus(path: string): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const auth = `Basic ${btoa('any:read')}`;
  const sent = httpRequest(server.url, { path, headers: { authorization: auth } }, (response) => {
    response.resume();
    resolve(response.statusCode ?? 0);
  });
  sent.on('error', reject);
  sent.end();
  return promise;
}

describe('EmbeddedHost', () => {
  it.each([
    [
      'no credential',
      'acme.git',
      UPLOAD,
      undefined,
      401,
      'A Git credential is needed: any user name, the token as password.\n',
    ],
    ['an unknown one', 'acme.git', UPLOAD, 'guess', 401, 'The Git credential is unknown, expired or revoked.\n'],
    ['one of another repository', 'acme.git', UPLOAD, 'own', 404, 'No such repository.\n'],
    ['a repository that does not exist', 'none.git', UPLOAD, 'read', 404, 'No such repository.\n'],
    [
      'a read credential that asks to push',
      'acme.git',
      RECEIVE,
      'read',
      403,
      'This credential may only read. The control plane alone writes here.\n',
    ],
    [
      'a file instead of a service',
      'acme.git',
      'HEAD',
      'read',
      403,
      'Only the smart HTTP protocol is served; use Git 1.6.6 or later.\n',
    ],
    [
      'info/refs without a service',
      'acme.git',
      'info/refs',
      'read',
      403,
      'Only the smart HTTP protocol is served; use Git 1.6.6 or later.\n',
    ],
    [
      'another service',
      'acme.git',
      'info/refs?service=git-upload-archive',
      'read',
      403,
      'Only the smart HTTP protocol is served; use Git 1.6.6 or later.\n',
    ],
    [
      'an object by its path',
      'acme.git',
      'objects/info/packs',
      'read',
      403,
      'Only the smart HTTP protocol is served; use Git 1.6.6 or later.\n',
    ],
  ])('answers %s', async (_name, repository, path, token, status, text) => {
    const response = await get(`${repository}/${path}`, token);
    expect([response.status, await response.text()]).toEqual([status, text]);
    expect(response.headers.get('www-authenticate')).toBe(status === 401 ? 'Basic realm="git", charset="UTF-8"' : null);
  });

  it.each([
    '/git/../acme.git/info/refs',
    '/git/%2e%2e/acme.git/HEAD',
    '/git/acme.git/../acme.git/config',
    '/git/acme.git/../../x.git/info/refs',
    '/git/.git/HEAD',
    '/git//etc.git/HEAD',
    '/git/a%00b.git/info/refs',
    '/git/acme/info/refs',
  ])('serves nothing at %s', async (path) => {
    expect([403, 404]).toContain(await rawStatus(`${path}?service=git-upload-pack`));
  });

  it('answers a wrong method with the right one', async () => {
    const response = await get('acme.git/git-upload-pack', 'read');
    expect([response.status, response.headers.get('allow')]).toEqual([405, 'POST']);
  });

  it.each(['0', '1', '2'])('is cloned by plain git, protocol version %s', async (version) => {
    const into = join(server.folder, `clone-v${version}`);
    await git(server.folder, [
      '-c',
      `protocol.version=${version}`,
      'clone',
      '--quiet',
      server.remote('acme', 'read'),
      into,
    ]);
    expect(await git(into, ['log', '--format=%s'])).toBe('Start the repository');
    expect(await readFile(join(into, 'README.md'), 'utf8')).toMatch(/^# Intent of clusters\n/);
    await git(into, ['fsck', '--strict']);
  });

  it('is cloned in part', async () => {
    const into = join(server.folder, 'partial');
    const args = [
      'clone',
      '--quiet',
      '--filter=blob:none',
      '--no-checkout',
      '--depth=1',
      server.remote('acme', 'read'),
      into,
    ];
    await git(server.folder, args);
    expect(await git(into, ['rev-list', '--objects', '--missing=print', 'HEAD'])).toContain('?');
    expect(await git(into, ['show', 'HEAD:README.md'])).toMatch(/^# Intent of clusters\n/);
  });

  it('serves a repository with two segments in its name', async () => {
    expect(await git(server.folder, ['ls-remote', server.remote('clusters/prod-eu', 'own')])).toContain(
      'refs/heads/main',
    );
    expect(await gitFailure(server.folder, ['ls-remote', server.remote('clusters/prod-eu', 'read')])).toContain(
      'not found',
    );
  });

  it('makes a repository once, whoever asks how often', async () => {
    const all = Array.from({ length: 4 }, async () => server.host.ensureRepository('once', { branch: 'trunk' }));
    await Promise.all(all);
    await server.host.ensureRepository('once', { branch: 'trunk' });
    expect(await git(server.path('once'), ['log', '--format=%s', 'trunk'])).toBe('Start the repository');
    expect(await git(server.path('once'), ['symbolic-ref', 'HEAD'])).toBe('refs/heads/trunk');
    const repositories = await readdir(join(server.folder, 'repositories'));
    expect(repositories.toSorted()).toEqual(['acme.git', 'clusters', 'once.git']);
  });

  it.each(['../x', 'a/../b', '/x', '', 'a//b', 'A', 'a.git', 'a/b/c', '.x', 'x.lock', 'a\0b'])(
    'has no repository named %j',
    async (name) => {
      expect(() => server.host.repositoryPath(name)).toThrow('is not a repository name');
      await expect(server.host.ensureRepository(name, { branch: 'main' })).rejects.toThrow('is not a repository name');
    },
  );

  it('understands a gzipped body, and takes no bomb for one', async () => {
    const headers = { 'content-encoding': 'gzip', 'content-type': 'application/x-git-receive-pack-request' };
    const probe = await get('acme.git/git-receive-pack', 'write', { method: 'POST', headers, body: gzipSync('0000') });
    expect([probe.status, await probe.text()]).toEqual([200, '']);
    const line = `${'0'.repeat(40)} ${'1'.repeat(40)} refs/heads/main\0 report-status`;
    const packet = (line.length + 4).toString(16).padStart(4, '0') + line;
    const bomb = gzipSync(Buffer.concat([Buffer.from(`${packet}0000PACK`), Buffer.alloc(50_000_000)]));
    const refused = await get('acme.git/git-receive-pack', 'write', { method: 'POST', headers, body: bomb });
    expect(refused.status).toBe(413);
    const other = await get('acme.git/git-upload-pack', 'read', {
      method: 'POST',
      headers: { 'content-encoding': 'br' },
      body: 'x',
    });
    expect([other.status, await other.text()]).toEqual([415, 'Only gzip is understood as Content-Encoding.\n']);
  });
});
