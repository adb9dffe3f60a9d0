import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { decryptWith, generateEncryptionKeypair, type EncryptionKeypair } from '../../../src/protocol/jwe.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { gitEnv, INSTALL, RunningControlPlane } from '../running-control-plane.ts';

const run = promisify(execFile);
const DAY = 24 * 3_600_000;

let clock: ManualClock;
let plane: RunningControlPlane;
let keypair: EncryptionKeypair;
let agentToken: string;
let clusterId: string;

beforeAll(async () => {
  clock = new ManualClock('2026-11-28T10:00:00.000Z');
  plane = await RunningControlPlane.start(clock);
  await plane.putPodinfo();
  clusterId = await plane.newCluster('prod-eu');
  keypair = await generateEncryptionKeypair();
  await register(keypair);
});
afterAll(async () => await plane[Symbol.asyncDispose]());

async function register(keys: EncryptionKeypair | undefined, cluster = 'prod-eu'): Promise<string> {
  const { body: issued } = await plane.call('POST', `/clusters/${cluster}/registration-token`);
  const request = {
    token: issued['registrationToken'],
    ...(keys === undefined ? {} : { public_key: keys.publicJwk }),
  };
  const { body } = await plane.call('POST', '/api/agent/register', request, { token: null });
  agentToken = String(body['token']);
  return agentToken;
}

async function gitConfig(headers: Record<string, string> = {}, token = agentToken) {
  const { status, body } = await plane.call('GET', '/api/agent/config?wait=0', undefined, { token, headers });
  expect(status).toBe(200);
  return body['git'] as Record<string, string>;
}

async function credentialIn(git: Record<string, string>): Promise<{ username: string; password: string }> {
  const opened = await decryptWith(keypair.privateJwk, git['credential_jwe'] ?? '');
  return JSON.parse(opened.expose()) as { username: string; password: string };
}

const credentials = () =>
  plane.query(
    'SELECT id, expires_at, revoked_at, token_sealed FROM git_credentials WHERE cluster_id = ? ORDER BY expires_at',
    clusterId,
  );

describe('the Git source of a cluster', () => {
  it('is a repository of the cluster’s own, with a credential that only the cluster can open, and that git takes', async () => {
    const git = await gitConfig();
    expect(git).toEqual({
      url: `${plane.url}/git/clusters/prod-eu.git`,
      branch: 'main',
      path: '',
      credential_jwe: expect.any(String),
    });
    const credential = await credentialIn(git);
    expect(credential).toEqual({ username: 'service', password: expect.stringMatching(/^svcgit_/) });
    const { stdout } = await run('git', ['ls-remote', git['url'] ?? ''], { env: gitEnv(credential) });
    expect(stdout).toBe('');
    expect(JSON.stringify(credentials())).not.toContain(credential.password);
  });

  it('hands the same credential out again, also after a restart and to many requests at once', async () => {
    const first = await credentialIn(await gitConfig());
    await plane.restart();
    const again = await Promise.all(Array.from({ length: 5 }, async () => await credentialIn(await gitConfig())));
    expect(again.every(({ password }) => password === first.password)).toBe(true);
    expect(credentials()).toHaveLength(1);
  });

  it('names the tree of the directory once something was delivered', async () => {
    const { body } = await plane.call('POST', '/clusters/prod-eu/intents', INSTALL);
    await plane.until(String(body['id']), 'delivered');
    const tree = (await plane.git('rev-parse', 'main:clusters/prod-eu')).trim();
    expect((await gitConfig())['desired_revision']).toBe(tree);
    expect((await plane.call('GET', '/clusters/prod-eu')).body['desiredRevision']).toBe(tree);
  });

  it('wakes the held /config request when an intent is delivered', async () => {
    const current = await plane.call('GET', '/api/agent/config?wait=0', undefined, { token: agentToken });
    const held = plane.call('GET', '/api/agent/config?wait=300', undefined, {
      token: agentToken,
      headers: { 'if-none-match': current.headers.get('etag') ?? '' },
    });
    const update = { action: 'update', namespace: 'shop', name: 'podinfo', chartVersion: '6.6.0' };
    await plane.call('POST', '/clusters/prod-eu/intents', update);
    const { body } = await held;
    expect(body['git'].desired_revision).toBe((await plane.git('rev-parse', 'main:clusters/prod-eu')).trim());
  });

  it('is renewed, and the cluster told so, when less than a third of its life is left; the old one works on', async () => {
    const before = await credentialIn(await gitConfig());
    clock.advance(20 * DAY - 60_000);
    expect(await credentialIn(await gitConfig())).toEqual(before);
    const current = await plane.call('GET', '/api/agent/config?wait=0', undefined, { token: agentToken });
    const held = plane.call('GET', '/api/agent/config?wait=300', undefined, {
      token: agentToken,
      headers: { 'if-none-match': current.headers.get('etag') ?? '' },
    });
    // The upkeep's turn: nobody asks, and still the cluster is told in time.
    clock.advance(120_000);
    const { body } = await held;
    const after = await credentialIn(body['git'] as Record<string, string>);
    expect(after.password).not.toBe(before.password);
    const url = `${plane.url}/git/clusters/prod-eu.git`;
    for (const credential of [before, after]) await run('git', ['ls-remote', url], { env: gitEnv(credential) });
    clock.advance(10 * DAY);
    await expect(run('git', ['ls-remote', url], { env: gitEnv(before) })).rejects.toThrow(
      /401|Authentication|could not read/,
    );
  });

  it('ends with the cluster: revoking or disabling it revokes its Git credentials at once', async () => {
    for (const verb of ['revoke', 'disable']) {
      await register(keypair);
      const credential = await credentialIn(await gitConfig());
      const url = `${plane.url}/git/clusters/prod-eu.git`;
      await run('git', ['ls-remote', url], { env: gitEnv(credential) });
      await plane.call('POST', `/clusters/prod-eu/${verb}`);
      await expect(run('git', ['ls-remote', url], { env: gitEnv(credential) })).rejects.toThrow(
        /401|Authentication|could not read/,
      );
      expect(credentials().every((row) => row['revoked_at'] !== null)).toBe(true);
    }
    await plane.call('POST', '/clusters/prod-eu/enable');
    await run('git', ['ls-remote', `${plane.url}/git/clusters/prod-eu.git`], {
      env: gitEnv(await credentialIn(await gitConfig())),
    });
  });

  it('keeps the credential back from a cluster without a key, unless it came over TLS', async () => {
    await plane.newCluster('keyless');
    const token = await register(undefined, 'keyless');
    const git = await gitConfig({}, token);
    expect(git).toEqual({ url: `${plane.url}/git/clusters/keyless.git`, branch: 'main', path: '' });
  });
});
