import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { systemClock } from '../../src/runtime/clock.ts';
import { INSTALL } from '../control-plane/running-control-plane.ts';
import { WholeSystem } from '../operator/whole-system.ts';

const ALICE = 'alice@example.com';

interface Key {
  readonly id: string;
  readonly state: string;
  readonly principal: string;
}

async function keys({ plane }: WholeSystem): Promise<readonly Key[]> {
  return ((await plane.call('GET', '/commit-signing-keys')).body as { readonly items: readonly Key[] }).items;
}

/** A system whose cluster requires signed commits and has one application, delivered by a signed commit. */
async function startSigned(): Promise<WholeSystem> {
  const system = await WholeSystem.start(systemClock, 'gitops', { git: { requireSignedCommits: true } });
  await system.bring(INSTALL, 'ready');
  await system.world.until('Synced', 'True', 'Applied');
  return system;
}

const projectionOf = ({ plane }: WholeSystem): string => join(plane.folder, 'git/clusters/eu.git');

function projected(system: WholeSystem, ...args: readonly string[]): string {
  return execFileSync('git', ['-C', projectionOf(system), ...args], { encoding: 'utf8' }).trim();
}

/** Adds Alice's key, and has her write into the directory, past the control plane, with a signed commit. */
async function commitAsAlice({ plane }: WholeSystem): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'alice-'));
  const [key, clone] = [join(folder, 'key'), join(folder, 'clone')];
  execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', key]);
  const publicKey = readFileSync(`${key}.pub`, 'utf8').trim();
  const added = await plane.call('POST', '/commit-signing-keys', { principal: ALICE, publicKey });
  expect(added.status).toBe(201);
  const settings = ['user.name=Alice', `user.email=${ALICE}`, 'gpg.format=ssh', `user.signingkey=${key}`];
  const git = (...args: string[]): void => {
    execFileSync('git', [...settings.flatMap((text) => ['-c', text]), '-C', clone, ...args]);
  };
  execFileSync('git', ['clone', '--quiet', join(plane.folder, 'git/fleet.git'), clone]);
  writeFileSync(join(clone, 'clusters/eu/README.md'), 'by Alice\n');
  git('commit', '--quiet', '-a', '-S', '-m', 'by Alice');
  git('push', '--quiet', 'origin', 'HEAD:main');
  rmSync(folder, { recursive: true });
}

const refused = async (system: WholeSystem): Promise<string> =>
  (await system.world.until('Synced', 'False', 'CommitNotTrusted')).message ?? '';

async function vouch(system: WholeSystem): Promise<void> {
  const revision = (await system.plane.git('rev-parse', 'main:clusters/eu')).trim();
  const vouched = await system.plane.call('POST', `/clusters/${system.clusterId}/trust-revision`, { revision });
  expect(vouched.status).toBe(200);
  await system.world.until('Synced', 'True', 'Applied');
}

describe('R4: a key whose commits the organization’s key stands for in what a cluster reads', () => {
  it('of a person: is trusted until it is revoked, and then again once a person has looked', async () => {
    await using system = await startSigned();
    await commitAsAlice(system);
    await vi.waitFor(() => expect(projected(system, 'log', '-1', '--format=%s', 'main')).toBe('by Alice'), {
      timeout: 20_000,
      interval: 50,
    });
    await system.bring({ ...INSTALL, action: 'update', chartVersion: '6.6.1' }, 'ready');
    await system.world.until('Synced', 'True', 'Applied');
    expect(projected(system, 'log', '-2', '--format=%s', 'main')).toContain('by Alice');
    const key = (await keys(system)).find(({ principal }) => principal === ALICE);
    await system.plane.call('POST', `/commit-signing-keys/${key?.id}/revoke`, { reason: 'stolen' });
    expect(await refused(system)).toContain('is not signed');
    await vouch(system);
    await system.bring({ ...INSTALL, action: 'update', chartVersion: '6.5.0' }, 'ready');
  }, 90_000);

  it('of the control plane, rotated and the projection made anew since: counts no longer than itself', async () => {
    await using system = await startSigned();
    const [first] = await keys(system);
    expect((await system.plane.call('POST', '/commit-signing-keys/rotate')).status).toBe(201);
    rmSync(projectionOf(system), { recursive: true });
    await vi.waitFor(() => expect(existsSync(join(projectionOf(system), 'refs/heads/main'))).toBe(true), {
      timeout: 20_000,
      interval: 50,
    });
    const before = projected(system, 'rev-parse', 'main');
    expect(projected(system, 'cat-file', 'commit', 'main')).toContain('gpgsig');
    await system.plane.call('POST', `/commit-signing-keys/${first?.id}/revoke`, { reason: 'stolen' });
    expect(await refused(system)).toMatch(/is not (signed|among the allowed signers)/);
    await vi.waitFor(() => expect(projected(system, 'rev-parse', 'main')).not.toBe(before), {
      timeout: 20_000,
      interval: 50,
    });
    expect(projected(system, 'cat-file', 'commit', 'main')).not.toContain('gpgsig');
    await vouch(system);
  }, 90_000);
});
