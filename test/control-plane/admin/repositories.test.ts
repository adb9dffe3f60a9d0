import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { gitEnv, INSTALL, RunningControlPlane } from '../running-control-plane.ts';

const run = promisify(execFile);

let plane: RunningControlPlane;

beforeAll(async () => {
  plane = await RunningControlPlane.start();
  await plane.putPodinfo();
  await plane.newCluster('prod-eu');
  await plane.newCluster('dedicated', { git: { repository: 'own' } });
  const { body } = await plane.call('POST', '/clusters/prod-eu/intents', INSTALL);
  await plane.until(String(body['id']), 'delivered');
});
afterAll(async () => await plane[Symbol.asyncDispose]());

async function readCredential(name: string, body?: unknown) {
  const { body: answer } = await plane.call('POST', `/repositories/${name}/read-credential`, body);
  return { url: String(answer['url']), username: String(answer['username']), password: String(answer['password']) };
}

async function failureOf(work: Promise<unknown>): Promise<string> {
  return await work.then(
    () => 'it succeeded',
    (error: { stderr?: string }) => error.stderr ?? 'it failed without a word',
  );
}

describe("a person's read credential", () => {
  it('is shown once, expires, is stored as a hash and audited', async () => {
    const answer = await plane.call('POST', '/repositories/fleet/read-credential', { expiresInSeconds: 3600 });
    expect(answer).toMatchObject({
      status: 201,
      body: {
        name: 'fleet',
        url: `${plane.url}/git/fleet.git`,
        branch: 'main',
        username: 'service',
        password: expect.stringMatching(/^svcgit_/),
        expiresAt: expect.any(String),
      },
    });
    expect(Date.parse(answer.body['expiresAt']) - Date.now()).toBeLessThanOrEqual(3_600_000);
    expect(JSON.stringify(plane.query('SELECT * FROM git_credentials'))).not.toContain(answer.body['password']);
    const audit = await plane.call('GET', '/audit?kind=GitReadCredentialIssued');
    expect(audit.body['items'][0]).toMatchObject({ source: 'user', actor: 'admin' });
  });

  it('clones the repository; a push with it is refused and changes nothing', async () => {
    const credential = await readCredential('fleet');
    const clone = join(plane.folder, 'clone');
    const env = gitEnv(credential);
    await run('git', ['clone', '--quiet', credential.url, clone], { env });
    const files = await run('git', ['-C', clone, 'ls-files']);
    expect(files.stdout).toContain('clusters/prod-eu/apps/shop/podinfo.yaml');
    await writeFile(join(clone, 'clusters/prod-eu/apps/shop/podinfo.yaml'), 'mine: true\n');
    await run('git', ['-C', clone, 'commit', '--quiet', '--all', '--message', 'mine'], { env });
    const before = await plane.traces();
    expect(await failureOf(run('git', ['-C', clone, 'push'], { env }))).toMatch(/403/);
    expect(await plane.traces()).toEqual(before);
  });

  it('opens its own repository only', async () => {
    const credential = await readCredential('own');
    const elsewhere = credential.url.replace('own.git', 'fleet.git');
    const env = gitEnv(credential);
    await run('git', ['ls-remote', credential.url], { env });
    expect(await failureOf(run('git', ['ls-remote', elsewhere], { env }))).toMatch(/not found/i);
  });

  it('is refused when it has expired, is revoked or was never issued', async () => {
    const credential = await readCredential('fleet');
    const env = gitEnv(credential);
    await plane.execute("UPDATE git_credentials SET expires_at = '2020-01-01T00:00:00.000Z'");
    expect(await failureOf(run('git', ['ls-remote', credential.url], { env }))).toMatch(
      /401|Authentication failed|could not read/,
    );
    const unknown = gitEnv({ username: 'service', password: 'svcgit_nonsense' });
    expect(await failureOf(run('git', ['ls-remote', credential.url], { env: unknown }))).toMatch(
      /401|Authentication failed|could not read/,
    );
  });

  it.for([{ expiresInSeconds: 59 }, { expiresInSeconds: 2_592_001 }, { lifetime: 60 }])(
    'is not issued for %o',
    async (body) => {
      const answer = await plane.call('POST', '/repositories/fleet/read-credential', body);
      expect(answer).toMatchObject({ status: 400, body: { faults: [{ path: `/${Object.keys(body)[0]}` }] } });
    },
  );

  it('is refused for a repository that is not there', async () => {
    expect((await plane.call('POST', '/repositories/nowhere/read-credential')).status).toBe(404);
  });
});

describe('the writer', () => {
  it('uses a credential of one minute, for the directories of its batch alone', () => {
    const rows = plane.query("SELECT scope, token_sealed FROM git_credentials WHERE access = 'write'");
    const scopes = rows.map(({ scope }) => JSON.parse(String(scope)) as unknown[]).filter((scope) => scope.length > 0);
    const [cluster] = plane.query("SELECT id FROM clusters WHERE slug = 'prod-eu'");
    expect(scopes).toEqual([[{ clusterId: cluster?.['id'], directory: 'clusters/prod-eu' }]]);
    expect(rows.every((row) => row['token_sealed'] === null)).toBe(true);
  });
});
