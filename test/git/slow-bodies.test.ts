import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { request as httpRequest, type ClientRequest } from 'node:http';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { pktLine } from '../../src/git/pkt-line.ts';
import { systemClock, type Clock } from '../../src/runtime/clock.ts';
import { fetchGit } from './acme-host.ts';
import { git, startGitServer, type GitServer } from './git-server.ts';

const SCOPE = [{ clusterId: 'c-eu', directory: 'clusters/prod-eu' }];
/** What bodies are judged by passes when the test says so; everything else takes its time. */
const pace = { pass: Promise.withResolvers<undefined>() };
const clock: Clock = {
  now: () => new Date(),
  sleep: async (ms, signal) => {
    if (ms !== 10_000) return await systemClock.sleep(ms, signal);
    const aborted = Promise.withResolvers<undefined>();
    signal?.addEventListener('abort', () => aborted.reject(new Error('aborted')), { once: true });
    await Promise.race([pace.pass.promise, aborted.promise]);
    pace.pass = Promise.withResolvers();
  },
};

let server: GitServer;
let open: ClientRequest[];
beforeEach(async () => {
  open = [];
  server = await startGitServer({ maxProcesses: 4, clock });
  await server.host.ensureRepository('acme', { branch: 'main' });
  server.tokens.set('write', { repository: 'acme', access: { access: 'write', scope: SCOPE } });
  server.tokens.set('read', { repository: 'acme', access: { access: 'read' } });
  server.tokens.set('other', { repository: 'acme', access: { access: 'read' } });
});
afterEach(async () => {
  for (const request of open) request.destroy();
  await server[Symbol.asyncDispose]();
});

/** Begins a POST and leaves it open; gives its status and text once it is answered. */
function begin(
  service: string,
  token: string,
  start: string | Buffer,
): { readonly sent: ClientRequest; readonly answer: Promise<{ status: number; text: string }> } {
  const { promise, resolve } = Promise.withResolvers<{ status: number; text: string }>();
  const headers = {
    authorization: `Basic ${btoa(`any:${token}`)}`,
    'content-type': `application/x-${service}-request`,
  };
  const sent = httpRequest(
    `${server.url}/git/acme.git/${service}`,
    { method: 'POST', agent: false, headers },
    (from) => {
      let text = '';
      from.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
      from.on('end', () => resolve({ status: from.statusCode ?? 0, text }));
    },
  );
  sent.on('error', () => resolve({ status: 0, text: '' }));
  sent.write(start);
  open.push(sent);
  return { sent, answer: promise };
}

const advertised = async (token: string): Promise<number> =>
  (await fetchGit(server, 'acme.git/info/refs?service=git-upload-pack', token, { signal: AbortSignal.timeout(5000) }))
    .status;

/** A commit of the cluster, and the pack that brings it. */
async function commit(): Promise<{ before: string; id: string; into: string; pack: Buffer }> {
  const into = join(server.folder, 'pusher');
  await git(server.folder, ['clone', '--quiet', server.remote('acme', 'write'), into]);
  const before = await git(into, ['rev-parse', 'HEAD']);
  const file = join(into, 'clusters/prod-eu/apps/shop/podinfo.yaml');
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, 'x\n');
  await git(into, ['add', '-A']);
  await git(into, ['commit', '--quiet', '-m', 'x', '-m', 'Cluster-Id: c-eu']);
  const id = await git(into, ['rev-parse', 'HEAD']);
  const listed = await git(into, ['rev-list', '--objects', id, `^${before}`]);
  const input = listed.replaceAll(/ .*/g, '');
  const packed = await git(into, ['pack-objects', '--quiet', join(server.folder, 'pushed')], { input: `${input}\n` });
  return { before, id, into, pack: await readFile(join(server.folder, `pushed-${packed}.pack`)) };
}

describe('bodies that do not end', () => {
  it('hold no process: others read and push, and the same credential is turned away beyond its share', async () => {
    for (let index = 0; index < 8; index += 1) begin('git-upload-pack', 'read', '0014command=ls-refs\n');
    await vi.waitFor(async () => expect(await advertised('read')).toBe(503), { timeout: 30_000, interval: 20 });
    expect(await advertised('other')).toBe(200);
    const { into, id } = await commit();
    await git(into, ['push', '--quiet', 'origin', 'main']);
    expect(await git(server.path('acme'), ['rev-parse', 'main'])).toBe(id);
  });

  it('are given up when they only trickle', async () => {
    const { answer } = begin('git-upload-pack', 'read', '0014command=ls-refs\n');
    const passing = setInterval(() => pace.pass.resolve(undefined), 20);
    try {
      expect(await answer).toEqual({
        status: 408,
        text: 'The request was given up: less than 4096 bytes of the body came within 10 seconds.\n',
      });
    } finally {
      clearInterval(passing);
    }
  });

  it('leave no file behind, large as they are, and a large one that ends is taken', async () => {
    const { sent, answer } = begin('git-receive-pack', 'write', Buffer.alloc(200_000, '0'));
    sent.end();
    expect((await answer).status).toBe(200);
    begin('git-receive-pack', 'write', Buffer.alloc(200_000, '0')).sent.destroy();
    await vi.waitFor(async () => expect(await advertised('write')).toBe(200), 30_000);
    expect(await readdir(join(server.folder, 'repositories'))).toEqual(['acme.git']);
  });
});

describe('a push that began with a good credential', () => {
  it('does not land once the credential is none any more', async () => {
    const { before, id, pack } = await commit();
    const command = pktLine(`${before} ${id} refs/heads/main\0report-status\n`);
    const { sent, answer } = begin('git-receive-pack', 'write', Buffer.concat([command, Buffer.from('0000')]));
    await vi.waitFor(() => expect(server.pushes()).toBe(1), 30_000);
    server.tokens.delete('write');
    sent.end(pack);
    expect((await answer).text).toContain('ng refs/heads/main not allowed');
    expect(await git(server.path('acme'), ['rev-parse', 'main'])).toBe(before);
  });
});
