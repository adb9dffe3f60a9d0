import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { blameText, logLines } from '../../src/cli/git-views.ts';
import { servicectl } from '../../src/cli/servicectl.ts';
import { INSTALL, RunningControlPlane } from '../control-plane/running-control-plane.ts';

let plane: RunningControlPlane;
let folder: string;
let first: string;
let second: string;

async function run(...args: readonly string[]) {
  let out = '';
  let err = '';
  const env = { SERVICECTL_SERVER: plane.url, SERVICECTL_TOKEN_FILE: join(folder, 'token') };
  const code = await servicectl(args, { env, out: (text) => (out += text), err: (text) => (err += text) });
  return { code, out, err };
}

async function intent(body: Record<string, unknown>): Promise<string> {
  const answer = await plane.call('POST', '/clusters/prod-eu/intents', body);
  const id = String(answer.body['id']);
  await plane.until(id, 'delivered');
  return id;
}

beforeAll(async () => {
  plane = await RunningControlPlane.start();
  folder = mkdtempSync(join(tmpdir(), 'servicectl-'));
  writeFileSync(join(folder, 'token'), `${plane.token}\n`);
  await plane.putPodinfo();
  await plane.newCluster('prod-eu', { git: { repository: 'europe' } });
  first = await intent({ ...INSTALL, reason: 'a first one' });
  const update = { action: 'update', namespace: 'shop', name: 'podinfo', chartVersion: '6.6.1' };
  second = await intent(update);
});

afterAll(async () => {
  await plane[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true, force: true });
});

describe('servicectl git', () => {
  it('log tells a line for each commit, with intent, person and state; pages are followed', async () => {
    const { code, out } = await run('git', 'log', '--cluster', 'prod-eu');
    const lines = out.trimEnd().split('\n');
    expect([code, lines.length]).toEqual([0, 2]);
    expect(lines[0]).toMatch(
      new RegExp(`^[0-9a-f]{10} prod-eu: update shop/podinfo 6\\.5\\.0 → 6\\.6\\.1 \\(${second}, \\S+, delivered\\)$`),
    );
    expect(lines[1]).toContain(`(${first}, `);
    expect((await run('git', 'log', '-r', 'europe', '-n', '1')).out.split('\n')).toHaveLength(2);
    const { items } = JSON.parse((await run('git', 'log', '-r', 'europe', '-o', 'json')).out);
    expect(items).toHaveLength(3);
    const object = await run('git', 'log', '--cluster', 'prod-eu', '--object', 'shop/none');
    expect([object.code, object.out]).toEqual([0, '']);
    expect(await run('git', 'log', '--object', 'shop/podinfo')).toMatchObject({ code: 2 });
  });

  it('show and diff take a commit, its beginning, an intent, or two commits', async () => {
    const shown = await run('git', 'show', first);
    expect(shown.code).toBe(0);
    expect(shown.out).toContain('    prod-eu: install shop/podinfo 6.5.0\n');
    expect(shown.out).toMatch(/^Reason: {2,}a first one$/m);
    expect(shown.out).toMatch(/^Signature: {2,}trusted, /m);
    expect(shown.out).toContain('+kind: ApplicationInstance\n');
    const diff = await run('git', 'diff', second);
    expect(diff.out).toMatch(/^diff --git [^]*\n-    version: 6\.5\.0\n\+    version: 6\.6\.1\n/);
    const ids = (await run('git', 'log', '--cluster', 'prod-eu')).out.split('\n').map((line) => line.slice(0, 10));
    expect((await run('git', 'diff', `${ids[1]}..${ids[0]}`, '-r', 'europe')).out).toBe(diff.out);
    expect((await run('git', 'show', ids[0] ?? '', '-r', 'europe')).out).toContain(
      `Intent:         ${second}`.slice(0, 8),
    );
    for (const range of [`${ids[1]}..HEAD`, `${ids[1]}..main`]) {
      expect((await run('git', 'diff', range, '-r', 'europe')).out).toBe(diff.out);
    }
  });

  it('says of a name that nothing has what may stand there, or where to look', async () => {
    const unknown = await run('git', 'show', 'abcdef0', '-r', 'europe');
    expect(unknown).toMatchObject({ code: 1, err: expect.stringContaining('servicectl git log -r europe') });
    for (const what of ['nosuch', 'nosuch..main']) {
      const { code, err } = await run('git', what.includes('..') ? 'diff' : 'show', what, '-r', 'europe');
      expect([code, err.split('\n')[1]]).toEqual([1, expect.stringContaining('or by its intent: int-…')]);
    }
    const blamed = await run('git', 'blame-intent', 'prod-eu', 'shop/nope');
    expect(blamed).toMatchObject({ code: 1, err: expect.stringContaining('servicectl git log -r europe') });
    const revoked = await run('commit-signing-keys', 'revoke', 'nope', '--yes');
    expect(revoked).toMatchObject({ code: 1, err: expect.stringContaining('servicectl commit-signing-keys list') });
    const intent = await run('git', 'show', 'int-0nope');
    expect(intent).toMatchObject({ code: 1, err: expect.stringContaining('servicectl intents list') });
  });

  it('clusters get shows one cluster, with its id and its directory', async () => {
    const { code, out } = await run('clusters', 'get', 'prod-eu');
    expect(code).toBe(0);
    expect(out).toMatch(/^slug {10}prod-eu\nid {12}c-\w{16}\n/);
    expect(out).toMatch(/^repository {4}europe\ndirectory {5}clusters\/prod-eu\nreview {8}direct$/m);
    expect(out).toMatch(/^Connected {3,}\w+ /m);
    const { id } = JSON.parse((await run('clusters', 'get', 'prod-eu', '-o', 'json')).out);
    expect(out).toContain(id);
  });

  it('blame-intent names the intent of each line', async () => {
    const { code, out } = await run('git', 'blame-intent', 'prod-eu', 'shop/podinfo');
    expect(code).toBe(0);
    const line = (text: string): string => out.split('\n').find((candidate) => candidate.includes(text)) ?? '';
    expect(line('kind: ApplicationInstance')).toContain(` ${first} `);
    expect(line('version: 6.6.1')).toContain(` ${second} `);
  });

  it('move-layout moves a repository, and says what it would do before', async () => {
    const dry = await run('repositories', 'move-layout', 'europe', 'sharded', '--dry-run');
    expect(dry.out).toBe('europe: 1 directory would be moved to the sharded layout\n');
    const moved = await run('repositories', 'move-layout', 'europe', 'sharded');
    expect([moved.code, moved.out]).toEqual([0, 'europe: 1 directory was moved to the sharded layout\n']);
    expect((await run('repositories', 'move-layout', 'europe', 'sharded')).out).toBe(
      'europe: has the sharded layout\n',
    );
    expect((await run('git', 'log', '--cluster', 'prod-eu', '-n', '1')).out).toContain('(layout, ');
    expect(await run('repositories', 'move-layout', 'europe', 'round')).toMatchObject({ code: 2 });
  });

  it('passes nothing to a terminal that a person put into a commit or a file', () => {
    const commit = {
      id: 'a'.repeat(40),
      kind: 'other' as const,
      subject: 'red \u001b[31m and \u202e turned',
      author: { name: 'Eve \u0007', email: '' },
      at: '2026-11-28T10:00:00.000Z',
      trailers: {},
    };
    const text = `${logLines([commit])}${blameText({ path: 'x', lines: [{ line: 1, commit: commit.id, text: '\u009b2J' }], commits: [commit] })}`;
    // oxlint-disable-next-line no-control-regex -- control characters are what it looks for
    expect(text).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]/);
  });
});
