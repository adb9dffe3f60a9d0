import { chmod, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { request as httpRequest } from 'node:http';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Clock } from '../../src/runtime/clock.ts';
import { git, gitFailure, startGitServer, type GitServer } from './git-server.ts';

let server: GitServer;

beforeAll(async () => {
  server = await startGitServer({ maxBodyBytes: 200_000 });
  await server.host.ensureRepository('acme', { branch: 'main' });
  await server.host.ensureRepository('clusters/prod-eu', { branch: 'main' });
  const scope = [{ clusterId: 'c-eu', directory: 'clusters/prod-eu' }];
  server.tokens.set('write', { repository: 'acme', access: { access: 'write', scope } });
  server.tokens.set('read', { repository: 'acme', access: { access: 'read' } });
  server.tokens.set('own', { repository: 'clusters/prod-eu', access: { access: 'read' } });
});

afterAll(async () => {
  await server[Symbol.asyncDispose]();
});

const UPLOAD = 'info/refs?service=git-upload-pack';
const RECEIVE = 'info/refs?service=git-receive-pack';

async function get(path: string, token?: string, init: RequestInit = {}): Promise<Response> {
  const headers = token === undefined ? {} : { authorization: `Basic ${btoa(`any:${token}`)}` };
  return fetch(`${server.url}/git/${path}`, {
    ...init,
    headers: { ...(init.headers as Record<string, string> | undefined), ...headers },
  });
}

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

  it('refuses a body that is too large or is no push', async () => {
    const large = await get('acme.git/git-receive-pack', 'write', { method: 'POST', body: Buffer.alloc(300_000) });
    expect([large.status, await large.text()]).toEqual([413, 'The push is larger than 200000 bytes.\n']);
    const html = await get('acme.git/git-receive-pack', 'write', { method: 'POST', body: '<html>' });
    expect([html.status, await html.text()]).toEqual([
      400,
      'The push cannot be read: MalformedPushError: the push is not in Git packets.\n',
    ]);
  });

  it('leaves nothing behind of a push that breaks off', async () => {
    const before = await git(server.path('acme'), ['rev-parse', 'main']);
    const line = `${before} ${'1'.repeat(40)} refs/heads/main\0 report-status`;
    const start = `${(line.length + 4).toString(16).padStart(4, '0')}${line}0000PACK\0\0\0\u0002\0\0\0\u0005`;
    const { promise, resolve } = Promise.withResolvers<undefined>();
    const sent = httpRequest(`${server.url}/git/acme.git/git-receive-pack`, {
      method: 'POST',
      headers: { authorization: `Basic ${btoa('any:write')}`, 'content-length': '100000' },
    });
    sent.on('error', () => resolve(undefined));
    sent.write(start);
    await untilQuarantine(true);
    sent.destroy();
    await promise;
    await untilQuarantine(false);
    expect(await git(server.path('acme'), ['rev-parse', 'main'])).toBe(before);
  });

  it('turns requests away when too many wait, and says when to come back', async () => {
    const release = Promise.withResolvers<undefined>();
    const scope = [{ clusterId: 'c-eu', directory: 'clusters/prod-eu' }];
    await using busy = await startGitServer({ maxProcesses: 1 });
    await busy.host.ensureRepository('acme', { branch: 'main' });
    busy.tokens.set('write', { repository: 'acme', access: { access: 'write', scope } });
    const authorization = `Basic ${btoa('any:write')}`;
    // Holds the only slot: its body never ends.
    const holder = httpRequest(`${busy.url}/git/acme.git/git-receive-pack`, {
      method: 'POST',
      headers: { authorization, 'content-length': '10' },
    });
    holder.on('error', () => release.resolve(undefined));
    holder.write('00');
    const ask = async (): Promise<Response> =>
      fetch(`${busy.url}/git/acme.git/${UPLOAD}`, { headers: { authorization } });
    const answers = Array.from({ length: 12 }, ask);
    const first = await Promise.race(answers);
    expect([first.status, first.headers.get('retry-after'), await first.text()]).toEqual([
      503,
      '2',
      'The Git host is busy; try again.\n',
    ]);
    holder.destroy();
    await release.promise;
    const statuses = (await Promise.all(answers)).map(({ status }) => status);
    // One waits more when it came before the holder.
    expect([8, 9]).toContain(statuses.filter((status) => status === 200).length);
    expect(statuses.every((status) => status === 200 || status === 503)).toBe(true);
  });

  it('gives a request up after its time', async () => {
    const wake = Promise.withResolvers<undefined>();
    const clock: Clock = {
      now: () => new Date(),
      sleep: async (_ms, signal) => {
        const aborted = Promise.withResolvers<undefined>();
        signal?.addEventListener('abort', () => aborted.reject(new Error('aborted')), { once: true });
        await Promise.race([wake.promise, aborted.promise]);
      },
    };
    await using slow = await startGitServer({ clock });
    await slow.host.ensureRepository('acme', { branch: 'main' });
    slow.tokens.set('write', { repository: 'acme', access: { access: 'write', scope: [] } });
    const { promise, resolve } = Promise.withResolvers<number>();
    const sent = httpRequest(
      `${slow.url}/git/acme.git/git-receive-pack`,
      { method: 'POST', headers: { authorization: `Basic ${btoa('any:write')}`, 'content-length': '10' } },
      (response) => {
        response.resume();
        resolve(response.statusCode ?? 0);
      },
    );
    sent.on('error', () => undefined);
    sent.write('00');
    wake.resolve(undefined);
    expect(await promise).toBe(503);
    sent.destroy();
  });

  it('passes nothing of its own environment on, and runs no hook of a repository', async () => {
    const marker = join(server.folder, 'hook-ran');
    const hook = join(server.path('acme'), 'hooks', 'reference-transaction');
    await mkdir(join(server.path('acme'), 'hooks'), { recursive: true });
    await writeFile(hook, `#!/bin/sh\necho ran > '${marker}'\n`);
    await chmod(hook, 0o755);
    const into = join(server.folder, 'pusher');
    await git(server.folder, ['clone', '--quiet', server.remote('acme', 'write'), into]);
    await mkdir(join(into, 'clusters/prod-eu/apps/shop'), { recursive: true });
    await writeFile(join(into, 'clusters/prod-eu/apps/shop/podinfo.yaml'), 'x\n');
    await git(into, ['add', '-A']);
    await git(into, ['commit', '--quiet', '-m', 'x', '-m', 'Cluster-Id: c-eu']);
    await git(into, ['push', '--quiet', 'origin', 'main']);
    expect(await readdir(server.folder)).not.toContain('hook-ran');
    expect(await git(server.path('acme'), ['reflog', '--format=%gs', 'main'])).toContain('push');
  });
});

/** Until a push's quarantine is there, or none is. */
async function untilQuarantine(there: boolean): Promise<void> {
  for (let attempt = 0; attempt < 500; attempt += 1) {
    const names = await readdir(join(server.path('acme'), 'objects'));
    if (names.some((name) => name.startsWith('tmp_objdir')) === there) return;
    await new Promise<void>((resolve) => {
      setTimeout(resolve, 10);
    });
  }
  throw new Error(`the quarantine is ${there ? 'never there' : 'still there'}`);
}
