import { chmod, mkdir, readdir, writeFile } from 'node:fs/promises';
import { request as httpRequest } from 'node:http';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { Clock } from '../../src/runtime/clock.ts';
import { git, startGitServer, type GitServer } from './git-server.ts';
import { fetchGit, startAcmeHost } from './acme-host.ts';

let server: GitServer;

beforeAll(async () => {
  server = await startAcmeHost();
});

afterAll(async () => {
  await server[Symbol.asyncDispose]();
});

const get = async (path: string, token?: string, init: RequestInit = {}): Promise<Response> =>
  await fetchGit(server, path, token, init);

describe('an EmbeddedHost under strain', () => {
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
    const pushes = server.pushes();
    const { promise, resolve } = Promise.withResolvers<undefined>();
    const sent = httpRequest(`${server.url}/git/acme.git/git-receive-pack`, {
      method: 'POST',
      headers: { authorization: `Basic ${btoa('any:write')}`, 'content-length': '100000' },
    });
    sent.on('error', () => resolve(undefined));
    // More than is kept in memory.
    sent.write(`${start}${'x'.repeat(80_000)}`);
    await vi.waitFor(() => expect(server.pushes()).toBeGreaterThan(pushes), 30_000);
    sent.destroy();
    await promise;
    await untilNoQuarantine();
    expect(await readdir(join(server.folder, 'repositories'))).toEqual(['acme.git', 'clusters']);
    expect(await git(server.path('acme'), ['rev-parse', 'main'])).toBe(before);
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

/** Until no push's quarantine is there. */
async function untilNoQuarantine(): Promise<void> {
  await vi.waitFor(
    async () => {
      const names = await readdir(join(server.path('acme'), 'objects'));
      expect(names.filter((name) => name.startsWith('tmp_objdir'))).toEqual([]);
    },
    { timeout: 30_000, interval: 10 },
  );
}
