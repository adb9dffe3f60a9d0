import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { decryptWith, generateEncryptionKeypair } from '../../../src/protocol/jwe.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { gitEnv, INSTALL, PODINFO, RunningControlPlane } from '../running-control-plane.ts';

const run = promisify(execFile);

interface Source {
  readonly url: string;
  readonly credential: { readonly username: string; readonly password: string };
}

let clock: ManualClock;
let plane: RunningControlPlane;
let otherAdmin: string;
const sources: Record<string, Source> = {};

beforeAll(async () => {
  clock = new ManualClock('2026-11-28T10:00:00.000Z');
  plane = await RunningControlPlane.start(clock);
  otherAdmin = plane.addOrganization('other');
  await plane.putPodinfo();
  await plane.call('PUT', '/catalog/podinfo', PODINFO, { token: otherAdmin });
  sources['mine'] = await registered('prod-eu', plane.token);
  sources['neighbour'] = await registered('prod-us', plane.token);
  sources['other organization'] = await registered('prod-eu', otherAdmin);
});
afterAll(async () => await plane[Symbol.asyncDispose]());

/** A registered gitops cluster with something delivered: where it reads and with what. */
async function registered(slug: string, token: string): Promise<Source> {
  const options = { token };
  const created = await plane.call(
    'POST',
    '/clusters',
    {
      slug,
      displayName: slug,
      allowedNamespaces: ['shop'],
      allowedCatalogEntries: ['podinfo'],
      allowedOperationTemplates: [],
      connectivityMode: 'gitops',
    },
    options,
  );
  const keys = await generateEncryptionKeypair();
  const request = { token: created.body['registrationToken'], public_key: keys.publicJwk };
  const agent = await plane.call('POST', '/api/agent/register', request, { token: null });
  const { body: intent } = await plane.call('POST', `/clusters/${slug}/intents`, INSTALL, options);
  await vi.waitFor(
    async () => {
      const { body: now } = await plane.call('GET', `/intents/${String(intent['id'])}`, undefined, options);
      if (now['state'] !== 'delivered') throw new Error(`intent ${JSON.stringify(now)}`);
    },
    { timeout: 10_000, interval: 10 },
  );
  const { body } = await plane.call('GET', '/api/agent/config?wait=0', undefined, { token: agent.body['token'] });
  const opened = await decryptWith(keys.privateJwk, body['git'].credential_jwe);
  return { url: body['git'].url, credential: JSON.parse(opened.expose()) as Source['credential'] };
}

const read = async (url: string, { credential }: Source) =>
  await run('git', ['ls-remote', url], { env: gitEnv(credential) });

describe('what a cluster reads of the embedded host', () => {
  it('has an address that no cluster of another organization can take', () => {
    expect([sources['mine']?.url, sources['other organization']?.url]).toEqual([
      `${plane.url}/git/clusters/prod-eu.git`,
      `${plane.url}/git/other/clusters/prod-eu.git`,
    ]);
  });

  it.each(['mine', 'neighbour', 'other organization'])('is its own directory and nothing else: %s', async (who) => {
    const own = sources[who] as Source;
    expect((await read(own.url, own)).stdout).toMatch(/^[0-9a-f]{40}\tHEAD\n[0-9a-f]{40}\trefs\/heads\/main\n$/);
    const foreign = Object.values(sources).flatMap(({ url }) => (url === own.url ? [] : [url]));
    for (const url of [...foreign, `${plane.url}/git/fleet.git`, `${plane.url}/git/other/fleet.git`]) {
      await expect(read(url, own)).rejects.toThrow(/No such repository|not found/);
    }
  });

  it('is not what a person reads, who reads the whole repository', async () => {
    const { body } = await plane.call('POST', '/repositories/fleet/read-credential');
    const person = { url: body['url'], credential: { username: 'any', password: body['password'] } };
    expect((await read(person.url, person)).stdout).toContain('refs/heads/main');
    await expect(read(sources['mine']?.url ?? '', person)).rejects.toThrow(/No such repository|not found/);
  });

  it('takes no push from the cluster', async () => {
    const own = sources['mine'] as Source;
    const folder = await mkdtemp(join(plane.folder, 'clone-'));
    const env = gitEnv(own.credential);
    await run('git', ['clone', '--quiet', own.url, folder], { env });
    await run('git', ['-C', folder, 'commit', '--quiet', '--allow-empty', '-m', 'x'], { env });
    await expect(run('git', ['-C', folder, 'push', 'origin', 'HEAD:main'], { env })).rejects.toThrow('may only read');
  });

  it('is signed as the shared branch is, and nothing that came past the control plane is', async () => {
    const { body } = await plane.call('GET', '/commit-signing-keys');
    const folder = await mkdtemp(join(tmpdir(), 'signers-'));
    const file = join(folder, 'allowed');
    const lines = body['items'].map(
      (key: { principal: string; publicKey: string }) => `${key.principal} ${key.publicKey}\n`,
    );
    await writeFile(file, lines.join(''));
    const projection = join(plane.folder, 'git/clusters/prod-us.git');
    const verify = ['-c', `gpg.ssh.allowedSignersFile=${file}`, '-C', projection, 'verify-commit', 'main'];
    await run('git', verify);
    const clone = await mkdtemp(join(plane.folder, 'by-hand-'));
    const env = gitEnv({ username: 'any', password: 'none' });
    const git = async (...args: string[]) => await run('git', ['-C', clone, ...args], { env });
    await git('clone', '--quiet', join(plane.folder, 'git/fleet.git'), '.');
    await writeFile(join(clone, 'clusters/prod-us/apps/shop/by-hand.yaml'), 'x: 1\n');
    await git('add', '-A');
    await git('commit', '--quiet', '-m', 'by hand');
    await git('push', '--quiet', 'origin', 'HEAD:main');
    await read(sources['neighbour']?.url ?? '', sources['neighbour'] as Source);
    expect((await run('git', ['-C', projection, 'log', '-1', '--format=%s', 'main'])).stdout).toBe('by hand\n');
    await expect(run('git', verify)).rejects.toMatchObject({ code: 1 });
  });

  it('has its name from the host: no repository is called so', async () => {
    const { status, body } = await plane.call('POST', '/clusters', { ...NEW, git: { repository: 'clusters' } });
    expect(status).toBe(400);
    expect(JSON.stringify(body)).toContain('/git/repository');
    expect(existsSync(join(plane.folder, 'git/clusters.git'))).toBe(false);
  });

  it('ends with its cluster; the shared repository keeps everything', async () => {
    const own = sources['mine'] as Source;
    const projection = join(plane.folder, 'git/clusters/prod-eu.git');
    const before = await plane.git('rev-parse', 'main:clusters/prod-eu');
    expect((await plane.call('DELETE', '/clusters/prod-eu?force=true')).status).toBe(204);
    await expect(read(own.url, own)).rejects.toThrow(/401|Authentication|could not read/);
    await expect
      .poll(
        () => {
          clock.advance(3_600_000);
          return existsSync(projection);
        },
        { timeout: 10_000, interval: 50 },
      )
      .toBe(false);
    expect(existsSync(join(plane.folder, 'git/clusters/prod-us.git'))).toBe(true);
    expect(existsSync(join(plane.folder, 'git/other/clusters/prod-eu.git'))).toBe(true);
    expect(await plane.git('rev-parse', 'main:clusters/prod-eu')).toBe(before);
  });
});

const NEW = {
  slug: 'new',
  displayName: 'new',
  allowedNamespaces: ['shop'],
  allowedCatalogEntries: [],
  allowedOperationTemplates: [],
  connectivityMode: 'gitops',
};
