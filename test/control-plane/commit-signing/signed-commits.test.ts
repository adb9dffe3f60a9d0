import { execFile } from 'node:child_process';
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { INSTALL, RunningControlPlane } from '../running-control-plane.ts';

const run = promisify(execFile);

let plane: RunningControlPlane;
let folder: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'signed-commits-'));
  plane = await RunningControlPlane.start();
  await plane.putPodinfo();
  await plane.newCluster('prod-eu');
});
afterAll(async () => {
  await plane[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true, force: true });
});

async function deliver(intent: Record<string, unknown>): Promise<void> {
  const { body } = await plane.call('POST', '/clusters/prod-eu/intents', intent);
  await plane.until(String(body['id']), 'delivered');
}

/** Plain git on the hosted repository, with the file of allowed signers as the API gives it now. */
async function git(...args: string[]): Promise<string> {
  const { body } = await plane.call('GET', '/commit-signing-keys');
  const file = join(folder, 'allowed_signers');
  writeFileSync(file, body['allowedSigners']);
  return await plane.git('-c', `gpg.ssh.allowedSignersFile=${file}`, ...args);
}

/** What git thinks of each commit of the branch and by whom it is, the newest first: `G` is good, `U` of nobody known. */
async function verdicts(): Promise<string[]> {
  return (await git('log', '--format=%G? %GS', 'main')).trim().split('\n');
}

const BY_PLANE = 'G service-control-plane@localhost';

describe('commits of the control plane', () => {
  it('are all accepted by git verify-commit, git log --show-signature and git fsck --strict', async () => {
    await deliver(INSTALL);
    await deliver({ ...INSTALL, action: 'update', chartVersion: '6.6.0' });
    await deliver({ action: 'uninstall', namespace: 'shop', name: 'podinfo' });
    expect(await verdicts()).toEqual([BY_PLANE, BY_PLANE, BY_PLANE, BY_PLANE]);
    for (const id of (await git('rev-list', 'main')).trim().split('\n')) await git('verify-commit', id);
    const log = await git('log', '--show-signature', 'main');
    expect(
      log.match(/Good "git" signature for service-control-plane@localhost with ED25519 key SHA256:/g),
    ).toHaveLength(4);
    await git('fsck', '--strict', '--no-dangling');
  });

  it('are refused by git once a byte of them is another', async () => {
    const copy = join(folder, 'copy.git');
    cpSync(join(plane.folder, 'git', 'fleet.git'), copy, { recursive: true });
    const { stdout } = await run('git', ['-C', copy, 'cat-file', 'commit', 'main'], { encoding: 'latin1' });
    const stored = run('git', ['-C', copy, 'hash-object', '-w', '-t', 'commit', '--stdin']);
    stored.child.stdin?.end(stdout.replace('podinfo', 'podinfO'), 'latin1');
    const forged = (await stored).stdout.trim();
    const verify = ['-C', copy, '-c', `gpg.ssh.allowedSignersFile=${join(folder, 'allowed_signers')}`, 'verify-commit'];
    await expect(run('git', [...verify, 'main'])).resolves.toMatchObject({ stderr: expect.stringContaining('Good') });
    await expect(run('git', [...verify, forged])).rejects.toThrow('Signature verification failed');
  });

  it('go on with a new key after a rotation; what the one before signed counts until it is revoked', async () => {
    const before = (await plane.call('GET', '/commit-signing-keys')).body['items'][0];
    const rotated = await plane.call('POST', '/commit-signing-keys/rotate');
    expect([rotated.status, rotated.body['state']]).toEqual([201, 'current']);
    await deliver(INSTALL);
    expect(await verdicts()).toEqual([BY_PLANE, BY_PLANE, BY_PLANE, BY_PLANE, BY_PLANE]);
    const stored = plane.query('SELECT id FROM commit_signing_keys WHERE private_key_sealed = ?', '');
    expect(stored).toEqual([{ id: before.id }]);
    const revoked = await plane.call('POST', `/commit-signing-keys/${before.id}/revoke`, { reason: 'lost' });
    expect(revoked.body).toMatchObject({ state: 'revoked', revokedReason: 'lost' });
    expect((await verdicts()).map((verdict) => verdict[0])).toEqual(['G', 'U', 'U', 'U', 'U']);
    // Twice is once, and another organization has no such key.
    expect((await plane.call('POST', `/commit-signing-keys/${before.id}/revoke`)).body).toEqual(revoked.body);
    const token = plane.addOrganization('other');
    const foreign = await plane.call('POST', `/commit-signing-keys/${before.id}/revoke`, undefined, { token });
    expect([foreign.status, foreign.body['error']]).toEqual([404, 'not_found']);
    const theirs = await plane.call('GET', '/commit-signing-keys', undefined, { token });
    expect(theirs.body['items'].map(({ state }: { state: string }) => state)).toEqual(['current']);
    expect(theirs.body['allowedSigners']).not.toBe(
      (await plane.call('GET', '/commit-signing-keys')).body['allowedSigners'],
    );
  });

  it('are signed by a successor as soon as the key that signs is revoked', async () => {
    const [current] = (await plane.call('GET', '/commit-signing-keys')).body['items'];
    await plane.call('POST', `/commit-signing-keys/${current.id}/revoke`);
    await deliver({ ...INSTALL, action: 'update', chartVersion: '6.6.0' });
    expect((await verdicts()).map((verdict) => verdict[0]).slice(0, 2)).toEqual(['G', 'U']);
    const { items } = (await plane.call('GET', '/commit-signing-keys')).body;
    expect(items.map(({ state }: { state: string }) => state)).toEqual(['current', 'revoked', 'revoked']);
  });
});

it('are trusted as they are at present where the admin who revokes their key says so', async () => {
  await plane.call('PATCH', '/clusters/prod-eu', { git: { requireSignedCommits: true } });
  const [current] = (await plane.call('GET', '/commit-signing-keys')).body['items'];
  const revocation = { reason: 'yearly', trustPresentRevisions: true };
  await plane.call('POST', `/commit-signing-keys/${current.id}/revoke`, revocation);
  const { body: cluster } = await plane.call('GET', '/clusters/prod-eu');
  expect(cluster['trustedRevision']).toBe((await plane.git('rev-parse', 'main:clusters/prod-eu')).trim());
  const { items } = (await plane.call('GET', '/audit?kind=CommitSigningKeyRevoked&limit=1')).body;
  expect(items[0].summary).toMatch(/; the present revisions of 1 clusters are trusted all the same: yearly$/);
});

describe('the keys of people', () => {
  const publicKey = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAINdamAGCsQq31Uv+08lkBzoO4XLz2qYjJa8CGmj3B1Ea';
  const anna = { principal: 'anna@example.com', publicKey: `${publicKey} anna@laptop` };

  it('count from when they are added until they are revoked, and then never again', async () => {
    const added = await plane.call('POST', '/commit-signing-keys', anna);
    const view = {
      state: 'added',
      principal: 'anna@example.com',
      publicKey,
      fingerprint: 'SHA256:bbXpuKG6zhzdmnxq256TlqzFBzRl2f6OOg722cYNbU8',
      addedBy: 'admin',
    };
    expect([added.status, added.body]).toEqual([201, expect.objectContaining(view)]);
    const line = `anna@example.com namespaces="git" ${publicKey}\n`;
    expect((await plane.call('GET', '/commit-signing-keys')).body['allowedSigners']).toContain(line);
    expect((await plane.call('POST', '/commit-signing-keys', anna)).body).toMatchObject({ error: 'conflict' });
    await plane.call('POST', `/commit-signing-keys/${added.body['id']}/revoke`);
    expect((await plane.call('GET', '/commit-signing-keys')).body['allowedSigners']).not.toContain(line);
    const again = await plane.call('POST', '/commit-signing-keys', anna);
    expect([again.status, again.body['message']]).toEqual([409, expect.stringContaining('make a new key')]);
  });

  it.each([
    [{ principal: 'anna', publicKey }, '/principal'],
    [{ principal: 'anna@example.com,*', publicKey }, '/principal'],
    [{ principal: 'anna@example.com', publicKey: 'ssh-dss AAAA' }, '/publicKey'],
    [{ principal: 'anna@example.com', publicKey: `${publicKey}\n${publicKey}` }, '/publicKey'],
  ])('are refused where they cannot be used: %j', async (body, path) => {
    const answer = await plane.call('POST', '/commit-signing-keys', body);
    expect([answer.status, answer.body['faults']?.[0]?.path]).toEqual([400, path]);
  });
});
