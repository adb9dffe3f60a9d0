import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { LookingClock } from '../../support/looking-clock.ts';
import { gitEnv, INSTALL, RunningControlPlane } from '../running-control-plane.ts';

const run = promisify(execFile);
const PODINFO = 'clusters/prod-eu/apps/shop/podinfo.yaml';

let clock: LookingClock;
let plane: RunningControlPlane;
beforeEach(async () => {
  clock = new LookingClock();
  plane = await RunningControlPlane.start(clock);
  await plane.putPodinfo();
});
afterEach(async () => await plane[Symbol.asyncDispose]());

/** A person with access to the repository's own folder, past the control plane. */
async function byHand(
  edit: (git: (...args: string[]) => Promise<string>, clone: string) => Promise<unknown>,
): Promise<void> {
  const clone = await mkdtemp(join(plane.folder, 'by-hand-'));
  const env = gitEnv({ username: '', password: '' });
  await run('git', ['clone', '--quiet', join(plane.folder, 'git', 'fleet.git'), clone], { env });
  await edit(async (...args) => (await run('git', ['-C', clone, ...args], { env })).stdout, clone);
  await rm(clone, { recursive: true, force: true });
}

async function deleted(): Promise<void> {
  await byHand(async (git) => {
    await git('rm', '--quiet', PODINFO);
    await git('commit', '--quiet', '-m', 'remove');
    await git('push', '--quiet');
  });
}

async function install(id: string, intent: Record<string, unknown> = INSTALL): Promise<string> {
  const { body } = await plane.call('POST', `/clusters/${id}/intents`, intent);
  await plane.until(String(body['id']), 'delivered');
  return String(body['id']);
}

async function audited(kind: string): Promise<readonly string[]> {
  const { body } = await plane.call('GET', `/audit?kind=${kind}`);
  return (body['items'] as { readonly summary: string }[]).map(({ summary }) => summary);
}

/** Lets the watch look until what it should find out is found out. */
async function afterALook<T>(check: () => T | Promise<T>): Promise<T> {
  return await vi.waitFor(
    async () => {
      clock.look();
      return await check();
    },
    { timeout: 10_000, interval: 50 },
  );
}

const subjects = async (): Promise<readonly string[]> =>
  (await plane.git('log', '--reverse', '--format=%s', 'main')).trim().split('\n').slice(1);

describe('a file that somebody else deleted', () => {
  it('is reported once and left alone, as is the default', async () => {
    await install(await plane.newCluster('prod-eu'));
    await deleted();
    await afterALook(async () => expect((await audited('OutsideEdit')).length).toBe(1));
    expect((await audited('OutsideEdit'))[0]).toBe(
      `somebody else changed files in Git: ${PODINFO} deleted; left as is, as the control plane sees it`,
    );
    for (let looks = 0; looks < 5; looks += 1) await afterALook(() => undefined);
    expect((await audited('OutsideEdit')).length).toBe(1);
    expect(await subjects()).toEqual(['prod-eu: install shop/podinfo 6.5.0', 'remove']);
  });

  it('is written again where the cluster asks for that, by an ordinary commit', async () => {
    const id = await plane.newCluster('prod-eu');
    expect((await plane.call('PATCH', `/clusters/${id}`, { git: { outsideEdits: 'restore' } })).status).toBe(200);
    const intent = await install(id);
    await deleted();
    await afterALook(async () => expect((await subjects()).length).toBe(3));
    await plane.until(intent, 'delivered');
    const { body } = await plane.call('GET', `/intents/${intent}`);
    expect(body['receipt']['commit']).toBe((await plane.git('rev-parse', 'main')).trim());
    expect(await audited('OutsideEdit')).toEqual([
      `somebody else changed files in Git: ${PODINFO} deleted; delivered again, as the control plane sees it`,
    ]);
  });
});

describe('a history that was rewritten', () => {
  it('has what went with it delivered again, on the new tip, and says so', async () => {
    const id = await plane.newCluster('prod-eu');
    const kept = await install(id, { ...INSTALL, name: 'kept' });
    const lost = await install(id);
    const before = (await plane.git('rev-parse', 'main')).trim();
    const rewritten = await byHandRewritten();
    await afterALook(async () => expect((await subjects()).length).toBe(3));
    await plane.until(lost, 'delivered');
    expect(await subjects()).toEqual([
      'prod-eu: install shop/kept 6.5.0',
      'rewritten',
      'prod-eu: install shop/podinfo 6.5.0',
    ]);
    expect((await plane.git('rev-parse', 'main~1')).trim()).toBe(rewritten);
    await afterALook(async () => expect((await audited('GitHistoryRewritten')).length).toBe(2));
    expect((await audited('GitHistoryRewritten')).toSorted()).toEqual([
      `commits went with a rewritten history: ${PODINFO}; delivered again, as the control plane sees it`,
      `the branch main of fleet was rewritten: it was at ${before} and is at ${rewritten} now; 1 intents went with it, as the control plane sees it`,
    ]);
    expect((await plane.call('GET', `/intents/${kept}`)).body['state']).toBe('delivered');
  });
});

describe('an intent that failed after it was delivered', () => {
  const becomes = async (intent: string, state: string): Promise<void> => {
    await plane.execute('UPDATE intents SET state = ? WHERE id = ?', state, intent);
  };

  it('is delivered again when a rewritten history took it', async () => {
    const id = await plane.newCluster('prod-eu');
    const older = await install(id, { ...INSTALL, name: 'kept' });
    const lost = await install(id);
    await becomes(older, 'ready');
    await becomes(lost, 'failed');
    await byHandRewritten();
    await afterALook(async () => expect(await subjects()).toContain('prod-eu: install shop/podinfo 6.5.0'));
    await plane.until(lost, 'delivered');
  });

  it('stands for its object, so that no older intent is taken for what somebody changed', async () => {
    const id = await plane.newCluster('prod-eu', { git: { outsideEdits: 'restore' } });
    const older = await install(id);
    await becomes(older, 'ready');
    const newer = await install(id, { ...INSTALL, action: 'update', values: { ui: { message: 'new' } } });
    await becomes(newer, 'failed');
    await install(id, { ...INSTALL, name: 'other' });
    await byHand(async (git) => {
      await git('rm', '--quiet', PODINFO.replace('podinfo', 'other'));
      await git('commit', '--quiet', '-m', 'remove');
      await git('push', '--quiet');
    });
    await afterALook(async () => expect((await audited('OutsideEdit')).length).toBe(1));
    expect(await audited('OutsideEdit')).toEqual([
      `somebody else changed files in Git: ${PODINFO.replace('podinfo', 'other')} deleted; delivered again, as the control plane sees it`,
    ]);
    expect((await plane.call('GET', `/intents/${older}`)).body['state']).toBe('ready');
  });

  it('leaves the object to the intent before it when it was refused', async () => {
    const id = await plane.newCluster('prod-eu', { git: { outsideEdits: 'restore' } });
    const older = await install(id);
    await becomes(older, 'ready');
    const refused = await install(id, { ...INSTALL, action: 'update', values: { ui: { message: 'new' } } });
    await plane.execute('DELETE FROM receipts WHERE intent_id = ?', refused);
    await becomes(refused, 'failed');
    await deleted();
    await afterALook(async () => expect((await audited('OutsideEdit')).length).toBe(1));
    await plane.until(older, 'delivered');
  });
});

/** The last commit is replaced by another, and nothing of it is left. */
async function byHandRewritten(): Promise<string> {
  let tip = '';
  await byHand(async (git) => {
    await git('reset', '--quiet', '--hard', 'HEAD~1');
    await git('commit', '--quiet', '--allow-empty', '-m', 'rewritten');
    tip = (await git('rev-parse', 'HEAD')).trim();
    // As whoever has the folder can; the host itself lets nobody.
    await git('push', '--quiet', 'origin', 'HEAD:refs/heads/by-hand');
  });
  await plane.git('update-ref', 'refs/heads/main', tip);
  await plane.git('update-ref', '-d', 'refs/heads/by-hand');
  await plane.git('reflog', 'expire', '--expire=now', '--all');
  await plane.git('prune', '--expire=now');
  return tip;
}
