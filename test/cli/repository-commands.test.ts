import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { servicectl } from '../../src/cli/servicectl.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { FakeGitHost } from '../control-plane/git-hosts/fake-git-host.ts';
import { gitlabApi } from '../control-plane/git-hosts/host-apis.ts';
import { RunningControlPlane } from '../control-plane/running-control-plane.ts';

const TOKEN = 'glpat-a-token-of-the-fleet';

let plane: RunningControlPlane;
let host: FakeGitHost;
let url: string;

async function run(...args: string[]): Promise<{ readonly code: number; readonly out: string; readonly err: string }> {
  let out = '';
  let err = '';
  const env = { SERVICECTL_SERVER: plane.url, SERVICECTL_TOKEN_FILE: join(plane.folder, 'token') };
  const code = await servicectl(args, { env, out: (text) => (out += text), err: (text) => (err += text) });
  return { code, out, err };
}

function file(name: string, value: unknown): string {
  const path = join(plane.folder, name);
  writeFileSync(path, typeof value === 'string' ? value : JSON.stringify(value));
  return path;
}

beforeAll(async () => {
  plane = await RunningControlPlane.start(systemClock, { SERVICE_GIT_ALLOW_PRIVATE: 'true' });
  host = await FakeGitHost.start();
  host.tokens.set(TOKEN, { access: 'write' });
  host.api = gitlabApi({ token: TOKEN, expiresAt: '2027-02-01' });
  url = host.newRepository();
  file('token', plane.token);
});
afterAll(async () => {
  await plane[Symbol.asyncDispose]();
  await host[Symbol.asyncDispose]();
});

describe('servicectl repositories', () => {
  it('sets a repository from a file, shows it without its secrets, and forgets it', async () => {
    const write = { kind: 'token', token: TOKEN };
    const body = file('fleet.json', { url, host: 'gitlab', caCertificate: host.ca, write });
    const set = await run('repositories', 'set', 'lab', '--file', body);
    expect(set).toMatchObject({ code: 0, err: '' });
    expect(set.out).toMatch(/write credential\s+token, set \S+, expires 2027-02-01T00:00:00Z\n/);
    expect(set.out).toMatch(
      /Webhook http\S+\/webhooks\/git\/repo-\S+ with this secret, which is shown this once:\nwhsec_\S+\n$/,
    );
    const listed = await run('repositories', 'list');
    expect(listed.out.split('\n').map((line) => line.split(/ {2,}/))).toEqual([
      ['NAME', 'HOST', 'PROBE', 'EXPIRES', 'BRANCH', 'URL'],
      ['lab', 'gitlab', 'ready', '2027-02-01T00:00:00Z', 'main', url],
      [''],
    ]);
    const text = await run('repositories', 'get', 'lab');
    expect(text.out).toMatch(/^webhook\s+http\S+\/webhooks\/git\/repo-\S+$/m);
    const shown = await run('repositories', 'get', 'lab', '-o', 'json');
    expect(JSON.parse(shown.out)).toMatchObject({ name: 'lab', probe: { state: 'ready' } });
    expect(`${set.out}${listed.out}${shown.out}`).not.toContain(TOKEN);
    expect(await run('repositories', 'webhook-secret', 'lab')).toMatchObject({
      code: 2,
      out: '',
      err: expect.stringContaining('add --yes'),
    });
    const rotated = await run('repositories', 'webhook-secret', 'lab', '--yes');
    expect(rotated).toMatchObject({ code: 0, err: '' });
    expect(rotated.out).toMatch(/shown this once:\nwhsec_\S+\n$/);
    expect(rotated.out.split('\n').at(-2)).not.toBe(set.out.split('\n').at(-2));
    expect(await run('repositories', 'delete', 'lab')).toMatchObject({ code: 2, out: '' });
    expect(await run('repositories', 'delete', 'lab', '--yes')).toMatchObject({
      code: 0,
      out: 'repository lab is forgotten\n',
    });
    expect((await run('repositories', 'get', 'lab')).code).toBe(1);
  });

  it('replaces a credential, but not by one that the host refuses; a probe ends with 1 where the host says no', async () => {
    const write = { kind: 'token', token: TOKEN };
    await run(
      'repositories',
      'set',
      'turn',
      '--file',
      file('a.json', { url, host: 'git', caCertificate: host.ca, write }),
    );
    const wrong = file('wrong.json', { write: { kind: 'token', token: 'a-token-that-is-wrong' } });
    const refused = await run('repositories', 'credentials', 'turn', '--file', wrong);
    expect(refused).toMatchObject({ code: 1, err: expect.stringContaining('the one before it is kept') });
    expect(refused.err).not.toContain('a-token-that-is-wrong');
    expect(await run('repositories', 'probe', 'turn')).toMatchObject({
      code: 0,
      out: expect.stringMatching(/^ready: /),
    });
    host.tokens.set('a-token-that-is-new', { access: 'write' });
    const next = file('next.json', { write: { kind: 'token', token: 'a-token-that-is-new' } });
    expect((await run('repositories', 'credentials', 'turn', '--file', next)).code).toBe(0);
    host.tokens.delete('a-token-that-is-new');
    expect(await run('repositories', 'probe', 'turn')).toEqual({
      code: 1,
      out: '',
      err: 'servicectl: turn is forbidden: the Git host answered 401\n',
    });
  });

  it('does not quote a file that holds no JSON, since it may hold a secret', async () => {
    const broken = file('broken.json', `{"write": {"token": "${TOKEN}"`);
    const answer = await run('repositories', 'set', 'broken', '--file', broken);
    expect(answer).toEqual({ code: 2, out: '', err: `servicectl: ${broken} does not hold JSON\n` });
  });
});
