import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { INSTALL, RunningControlPlane } from '../running-control-plane.ts';

const run = promisify(execFile);
const UPDATE = { ...INSTALL, action: 'update', chartVersion: '6.6.0' };

let plane: RunningControlPlane;
let folder: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'every-commit-'));
  plane = await RunningControlPlane.start();
  await plane.putPodinfo();
  await plane.newCluster('prod-eu');
  await plane.newCluster('staged', { git: { review: 'proposal' } });
});
afterAll(async () => {
  await plane[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true, force: true });
});

async function accept(cluster: string, intent: Record<string, unknown>): Promise<string> {
  const { status, body } = await plane.call('POST', `/clusters/${cluster}/intents`, intent);
  expect(status).toBe(202);
  return String(body['id']);
}

/** Subjects of the commits of every branch of a hosted repository that plain git does not find well signed. */
async function unsigned(repository: string): Promise<string[]> {
  const signers = join(folder, 'allowed_signers');
  writeFileSync(signers, (await plane.call('GET', '/commit-signing-keys')).body['allowedSigners']);
  const at = ['-C', join(plane.folder, 'git', `${repository}.git`), '-c', `gpg.ssh.allowedSignersFile=${signers}`];
  await run('git', [...at, 'fsck', '--strict', '--no-dangling']);
  const { stdout } = await run('git', [...at, 'log', '--all', '--format=%G? %s']);
  const lines = stdout.trim().split('\n');
  expect(lines.length).toBeGreaterThan(1);
  return lines.filter((line) => !line.startsWith('G '));
}

it('signs commits of intents, of proposals before and after they are merged, of a change of layout, and projected ones', async () => {
  await plane.until(await accept('prod-eu', INSTALL), 'delivered');
  const proposed = await accept('staged', INSTALL);
  await plane.until(proposed, 'proposed');
  const [proposal] = (await plane.call('GET', '/proposals?state=open')).body['items'];
  expect(await plane.git('branch', '--list', 'proposals/*')).toContain(proposal.branch);
  expect(await unsigned('fleet')).toEqual([]);
  const { body: reviewer } = await plane.call('POST', '/admin-tokens', { name: 'ben' });
  const approved = await plane.call('POST', `/proposals/${proposal.id}/approve`, {}, { token: reviewer['token'] });
  expect(approved.status).toBe(200);
  await plane.until(proposed, 'delivered');
  const moved = await plane.call('POST', '/repositories/fleet/layout', { layout: 'sharded' });
  expect([moved.status < 300, moved.body]).toEqual([true, moved.body]);
  await plane.until(await accept('prod-eu', UPDATE), 'delivered');
  expect(await unsigned('fleet')).toEqual([]);
  await vi.waitFor(async () => expect(await unsigned('clusters/prod-eu')).toEqual([]), { timeout: 10_000 });
});
