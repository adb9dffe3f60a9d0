import { chmod, mkdir, readdir, writeFile } from 'node:fs/promises';
import { request as httpRequest } from 'node:http';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
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

const UPLOAD = 'info/refs?service=git-upload-pack';

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
    // The first that is turned away: one that came before the holder may be answered sooner.
    const turnedAway = answers.map(async (answer) =>
      (await answer).status === 503 ? await answer : await release.promise,
    );
    const first = await Promise.race(turnedAway);
    if (first === undefined) throw new Error('nobody was turned away while the slot was held');
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
