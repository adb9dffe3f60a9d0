import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdir, mkdtemp, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { mintGitCredential } from '../../../src/control-plane/store/git-credentials.ts';
import { WRITE_CREDENTIAL_LIFETIME_MS } from '../../../src/control-plane/deliveries.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { gitEnv, RunningControlPlane } from '../running-control-plane.ts';

const run = promisify(execFile);

let clock: ManualClock;
let plane: RunningControlPlane;
let work: string;
let clusterId: string;

beforeAll(async () => {
  clock = new ManualClock('2026-11-28T10:00:00.000Z');
  plane = await RunningControlPlane.start(clock);
  await plane.putPodinfo();
  clusterId = await plane.newCluster('prod-eu');
  await plane.newCluster('own', { git: { repository: 'own' } });
  work = await mkdtemp(join(plane.folder, 'work-'));
  await run('git', ['clone', '--quiet', join(plane.folder, 'git/fleet.git'), work]);
});
afterAll(async () => await plane[Symbol.asyncDispose]());

/** A write credential as the writer has it minted for a batch. */
async function minted(): Promise<{ readonly username: string; readonly password: string }> {
  const [repository] = plane.query("SELECT id FROM repositories WHERE name = 'fleet'");
  const { row, token } = mintGitCredential(
    {
      repositoryId: String(repository?.['id']),
      lifetimeMs: WRITE_CREDENTIAL_LIFETIME_MS,
      use: { access: 'write', scope: [{ clusterId, directory: 'clusters/prod-eu' }] },
    },
    { clock, randomBytes },
  );
  const columns = Object.entries(row).filter(([, value]) => value !== null);
  const marks = columns.map(() => '?').join(', ');
  await plane.execute(
    `INSERT INTO git_credentials (${columns.map(([name]) => name).join(', ')}) VALUES (${marks})`,
    ...columns.map(([, value]) => String(value)),
  );
  return { username: 'any', password: token.expose() };
}

let serial = 0;
async function commit(): Promise<void> {
  serial += 1;
  await mkdir(join(work, 'clusters/prod-eu/apps/shop'), { recursive: true });
  await writeFile(join(work, `clusters/prod-eu/apps/shop/app-${serial}.yaml`), `text ${serial}\n`);
  const env = gitEnv({ username: 'any', password: 'none' });
  await run('git', ['-C', work, 'add', '-A'], { env });
  await run('git', ['-C', work, 'commit', '--quiet', '-m', `change\n\nCluster-Id: ${clusterId}`], { env });
}

const push = async (credential: { readonly username: string; readonly password: string }, name = 'fleet') =>
  await run('git', ['-C', work, 'push', `${plane.url}/git/${name}.git`, 'HEAD:main'], { env: gitEnv(credential) });

describe('a credential for a batch', () => {
  it('writes for one minute and no longer', async () => {
    const credential = await minted();
    await commit();
    await push(credential);
    clock.advance(WRITE_CREDENTIAL_LIFETIME_MS - 1000);
    await commit();
    await push(credential);
    clock.advance(1000);
    await commit();
    await expect(push(credential)).rejects.toThrow(/401|Authentication|could not read/);
    await push(await minted());
  });

  it('reads nothing, in no version of the protocol: the writer reads in place', async () => {
    const env = gitEnv(await minted());
    const url = `${plane.url}/git/fleet.git`;
    for (const version of ['0', '1', '2']) {
      const protocol = ['-c', `protocol.version=${version}`];
      await expect(run('git', [...protocol, 'ls-remote', url], { env })).rejects.toThrow(/403/);
    }
    await expect(run('git', ['-C', work, 'fetch', '--quiet', url, 'main'], { env })).rejects.toThrow(/403/);
  });

  it('is good for one repository, and for no cluster’s projection', async () => {
    const credential = await minted();
    await commit();
    for (const name of ['own', 'clusters/prod-eu', 'clusters/own']) {
      await expect(push(credential, name)).rejects.toThrow(/No such repository|not found/);
    }
    await push(credential);
  });
});
