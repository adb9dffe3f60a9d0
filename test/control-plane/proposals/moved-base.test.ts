import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { SkippingClock } from '../../support/skipping-clock.ts';
import { gitEnv, RunningControlPlane } from '../running-control-plane.ts';
import { ReviewedCluster } from './reviewed-cluster.ts';

const run = promisify(execFile);
const clock = new SkippingClock();
let plane: RunningControlPlane;

beforeAll(async () => {
  plane = await RunningControlPlane.start(clock);
});
afterAll(async () => await plane[Symbol.asyncDispose]());

/** Edits a file of the shared branch in the bare repository itself, as somebody with access to it may. */
async function editByHand(path: string, edit: (text: string) => string): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'by-hand-'));
  const bare = join(plane.folder, 'git', 'fleet.git');
  const env = gitEnv({ username: 'x', password: 'x' });
  await run('git', ['clone', '-q', '-b', 'main', bare, folder], { env });
  writeFileSync(join(folder, path), edit(readFileSync(join(folder, path), 'utf8')));
  await run('git', ['-C', folder, 'commit', '-qam', 'by hand'], { env });
  // Past the host, whose hook lets nobody else write.
  await run('git', ['-C', bare, 'fetch', '-q', folder, 'main:main'], { env });
}

async function landed(cluster: ReviewedCluster, name: string): Promise<string> {
  const proposal = await cluster.propose({ name });
  await cluster.act(proposal['id'], 'approve');
  await cluster.until(proposal['id'], 'merged');
  return `${(await plane.call('GET', `/clusters/${cluster.slug}`)).body['git'].path}/${proposal['blobs'].find(({ path }: { path: string }) => path.endsWith(`${name}.yaml`)).path}`;
}

describe('a proposal whose base has moved', () => {
  it('keeps its approvals when the branch moves elsewhere', async () => {
    const cluster = await ReviewedCluster.create(plane, 'elsewhere', { requiredApprovals: { count: 2 } });
    await landedByTwo(cluster, 'a');
    const proposal = await cluster.propose({ name: 'b' });
    await cluster.act(proposal['id'], 'approve', 'anna');
    await landedByTwo(cluster, 'c');
    const after = await cluster.show(proposal['id']);
    expect(after).toMatchObject({ state: 'open', revision: 1, approvals: { given: ['anna-elsewhere'] } });
    await cluster.act(proposal['id'], 'approve', 'bert');
    expect(await cluster.until(proposal['id'], 'merged')).toMatchObject({ revision: 1 });
  });

  it('is rendered again as the next revision when somebody changed the file, and its approvals fall', async () => {
    const cluster = await ReviewedCluster.create(plane, 'edited', { requiredApprovals: { count: 2 } });
    const path = await landedByTwo(cluster, 'app');
    const update = await cluster.propose({ action: 'update', name: 'app', chartVersion: '6.6.0' });
    await cluster.act(update['id'], 'approve', 'anna');
    await editByHand(path, (text) => `# by hand\n${text}`);
    const again = await untilSkipping(async () => {
      const now = await cluster.show(update['id']);
      if (now['revision'] !== 2 || now['blobs'].length === 0) throw new Error(JSON.stringify(now));
      return now;
    });
    expect(again).toMatchObject({ state: 'open', approvals: { given: [], missing: { count: 2 } } });
    expect(again['reviews'][0]).toMatchObject({ kind: 'approve', revision: 1, droppedAt: expect.any(String) });
    expect(again['headCommit']).not.toBe(update['headCommit']);
    expect(await cluster.act(update['id'], 'approve', 'bert', { revision: 1 })).toMatchObject({ status: 409 });
    const { body: diff } = await plane.call('GET', `/proposals/${update['id']}/diff`);
    expect(diff).toMatchObject({ revision: 2, files: [{ patch: expect.stringContaining('-# by hand') }] });
    for (const name of ['anna', 'bert']) await cluster.act(update['id'], 'approve', name, { revision: 2 });
    await cluster.until(update['id'], 'merged');
  });

  it('is found out at the merge itself, before anything else noticed', async () => {
    const cluster = await ReviewedCluster.create(plane, 'late');
    const path = await landed(cluster, 'app');
    const update = await cluster.propose({ action: 'update', name: 'app', chartVersion: '6.6.0' });
    await editByHand(path, (text) => `# by hand\n${text}`);
    await cluster.act(update['id'], 'approve');
    expect(await cluster.until(update['id'], 'open', 2)).toMatchObject({ approvals: { given: [] } });
    expect(await plane.git('log', '-1', '--format=%s', 'main')).toBe('by hand\n');
  });

  it('is merged where somebody brought its branch to the shared one by hand', async () => {
    const cluster = await ReviewedCluster.create(plane, 'byhand');
    await landed(cluster, 'app');
    const update = await cluster.propose({ action: 'update', name: 'app', chartVersion: '6.6.0' });
    await plane.git('update-ref', 'refs/heads/main', update['headCommit']);
    const merged = await untilSkipping(async () => {
      const now = await cluster.show(update['id']);
      if (now['state'] !== 'merged') throw new Error(JSON.stringify(now));
      return now;
    });
    expect(merged['mergedCommit']).toBe(update['headCommit']);
    expect((await plane.until(update['intentId'], 'delivered'))['receipt'].commit).toBe(update['headCommit']);
  });
});

async function landedByTwo(cluster: ReviewedCluster, name: string): Promise<string> {
  const { id } = (await cluster.propose({ name })) as { id: string };
  for (const who of ['anna', 'bert']) await cluster.act(id, 'approve', who);
  const { blobs } = await cluster.until(id, 'merged');
  const { body } = await plane.call('GET', `/clusters/${cluster.slug}`);
  return `${body['git'].path}/${blobs.find(({ path }: { path: string }) => path.endsWith(`${name}.yaml`)).path}`;
}

/** Lets the loops have their next turn until it is true. */
async function untilSkipping<T>(look: () => Promise<T>): Promise<T> {
  return await vi.waitFor(
    async () => {
      clock.skip(31_000);
      return await look();
    },
    { timeout: 20_000, interval: 100 },
  );
}
