import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { INSTALL, RunningControlPlane } from '../running-control-plane.ts';

const run = promisify(execFile);

let plane: RunningControlPlane;

beforeEach(async () => {
  plane = await RunningControlPlane.start();
  await plane.putPodinfo();
});

afterEach(async () => {
  await plane[Symbol.asyncDispose]();
});

async function install(cluster: string, changes: Record<string, unknown> = {}): Promise<void> {
  const { body } = await plane.call('POST', `/clusters/${cluster}/intents`, { ...INSTALL, ...changes });
  await plane.until(String(body['id']), 'delivered');
}

const tree = async (): Promise<string[]> =>
  (await plane.git('ls-tree', '-r', '--name-only', 'main')).trim().split('\n');

const treeId = async (path: string): Promise<string> => (await plane.git('rev-parse', `main:${path}`)).trim();

const move = async (layout: string, dryRun?: boolean) =>
  await plane.call('POST', '/repositories/fleet/layout', { layout, ...(dryRun === undefined ? {} : { dryRun }) });

/** A person's commit on the bare repository, past every check. */
async function commitByHand(files: Readonly<Record<string, string>>): Promise<void> {
  const work = mkdtempSync(join(tmpdir(), 'by-hand-'));
  try {
    const git = async (...args: string[]) =>
      await run('git', ['-c', 'user.name=A person', '-c', 'user.email=p@example.com', '-C', work, ...args]);
    await run('git', ['clone', '--quiet', join(plane.folder, 'git', 'fleet.git'), work]);
    for (const [path, text] of Object.entries(files)) {
      await mkdir(join(work, path, '..'), { recursive: true });
      writeFileSync(join(work, path), text);
    }
    await git('add', '-A');
    await git('commit', '--quiet', '-m', 'by hand');
    await git('push', '--quiet', 'origin', 'HEAD:main');
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

describe('moving the layout of a repository', () => {
  it('is one commit that leaves every directory as it was, and back again gives the same tree', async () => {
    // `de` is the name of a shard too, and `prod-eu-2` goes into no shard of the others.
    for (const slug of ['prod-eu', 'de', 'prod-eu-2']) await install(await plane.newCluster(slug));
    const before = { root: await treeId(''), eu: await treeId('clusters/prod-eu'), files: await tree() };
    const revisions = plane.query('SELECT slug, desired_revision FROM clusters ORDER BY slug');
    const commits = Number((await plane.git('rev-list', '--count', 'main')).trim());

    expect((await move('sharded', true)).body).toMatchObject({ state: 'planned', directories: 3, collisions: [] });
    expect(await treeId('')).toBe(before.root);
    const moved = await move('sharded');
    expect([moved.status, moved.body]).toEqual([
      200,
      { name: 'fleet', from: 'flat', to: 'sharded', state: 'moved', directories: 3 },
    ]);
    expect(Number((await plane.git('rev-list', '--count', 'main')).trim())).toBe(commits + 1);
    const { body: view } = await plane.call('GET', '/clusters/prod-eu');
    const path = String(view['git'].path);
    expect(path).toMatch(/^clusters\/[0-9a-f]{2}\/prod-eu$/);
    expect(await treeId(path)).toBe(before.eu);
    expect(plane.query('SELECT slug, desired_revision FROM clusters ORDER BY slug')).toEqual(revisions);

    // The warm writer has the new layout without a restart.
    await install('prod-eu', { name: 'second' });
    expect(await tree()).toContain(`${path}/apps/shop/second.yaml`);
    const { body: gone } = await plane.call('POST', '/clusters/prod-eu/intents', {
      action: 'uninstall',
      namespace: 'shop',
      name: 'second',
    });
    await plane.until(String(gone['id']), 'delivered');
    expect(
      (await tree()).filter((file) => !file.startsWith('clusters/') || /^clusters\/[0-9a-f]{2}\//.test(file)),
    ).toEqual(await tree());

    expect((await move('flat')).body['state']).toBe('moved');
    expect((await tree()).filter((file) => !file.includes('tombstones/'))).toEqual(before.files);
    expect(await treeId('clusters/de')).toMatch(/^[0-9a-f]{40}$/);
    expect((await move('flat')).body['state']).toBe('unchanged');
    await plane.git('fsck', '--strict');
  });

  it("leaves people's files alone, and refuses with their names what stands in the way", async () => {
    await install(await plane.newCluster('prod-eu'));
    await commitByHand({ 'clusters/notes.md': 'ours\n', 'docs/a.md': 'a\n' });
    expect((await move('sharded')).body['state']).toBe('moved');
    expect(await tree()).toEqual(expect.arrayContaining(['clusters/notes.md', 'docs/a.md']));
    await commitByHand({ 'clusters/prod-eu/mine.txt': 'mine\n' });
    const before = await treeId('');
    const refused = await move('flat');
    expect([refused.status, refused.body['error'], refused.body['faults']]).toEqual([
      409,
      'conflict',
      [{ path: '/layout', message: 'clusters/prod-eu is there already' }],
    ]);
    expect((await move('flat', true)).body['collisions']).toEqual(['clusters/prod-eu is there already']);
    expect(await treeId('')).toBe(before);
    await install('prod-eu', { name: 'after' });
  });

  it('is taken up where a crash left it: before the push, and between the push and the database', async () => {
    const cluster = await plane.newCluster('prod-eu');
    await install(cluster);
    const id = 'lmove-0000000000aaaaaaaaaaaaaaaa';
    const recorded = JSON.stringify({ id, to: 'sharded', requestedBy: 'admin', requestedAt: new Date().toISOString() });
    const rows = (): unknown =>
      plane.query(
        'SELECT layout, layout_move, git_directory FROM repositories JOIN clusters ON repository_id = repositories.id',
      );
    const ended = [{ layout: 'sharded', layout_move: null, git_directory: 'clusters/33/prod-eu' }];
    const directory = String((await plane.call('GET', '/clusters/prod-eu')).body['git'].path);
    expect(directory).toBe('clusters/prod-eu');

    await plane.stop();
    await plane.execute('UPDATE repositories SET layout_move = ?', recorded);
    await plane.startAgain();
    await vi.waitFor(() => expect(rows()).toEqual(ended), { timeout: 20_000, interval: 20 });
    expect(await plane.git('log', '-1', '--format=%(trailers:key=Layout-Move-Id,valueonly)', 'main')).toContain(id);

    await plane.stop();
    await plane.execute("UPDATE repositories SET layout = 'flat', layout_move = ?", recorded);
    await plane.execute("UPDATE clusters SET git_directory = 'clusters/prod-eu'");
    const tip = await plane.git('rev-parse', 'main');
    await plane.startAgain();
    await vi.waitFor(() => expect(rows()).toEqual(ended), { timeout: 20_000, interval: 20 });
    expect(await plane.git('rev-parse', 'main')).toBe(tip);
    await install(await plane.newCluster('made-since'));
    expect(await treeId('clusters')).not.toBe('');
    expect((await tree()).some((path) => path.startsWith('clusters/made-since/'))).toBe(false);
  });

  it('gives up what has got something in the way meanwhile, says so in the audit log, and goes on delivering', async () => {
    await install(await plane.newCluster('prod-eu'));
    await plane.stop();
    await commitByHand({ 'clusters/33/prod-eu/mine.txt': 'mine\n' });
    const move = { id: 'lmove-1', to: 'sharded', requestedBy: 'admin', requestedAt: new Date().toISOString() };
    await plane.execute('UPDATE repositories SET layout_move = ?', JSON.stringify(move));
    await plane.startAgain();
    await install('prod-eu', { name: 'after' });
    expect(await tree()).toContain('clusters/prod-eu/apps/shop/after.yaml');
    const { body } = await plane.call('GET', '/audit?kind=RepositoryLayoutMoveGivenUp');
    expect(body['items']).toMatchObject([{ reason: 'clusters/33/prod-eu is there already', actor: 'admin' }]);
  });

  it('leaves an open proposal open, which then lands at the new place with its approval', async () => {
    await install(await plane.newCluster('prod-us'));
    await plane.newCluster('prod-eu', { git: { review: 'proposal', requiredApprovals: { count: 1 } } });
    const { body: asked } = await plane.call('POST', '/clusters/prod-eu/intents', INSTALL);
    await plane.until(String(asked['id']), 'proposed');
    const [proposal] = (await plane.call('GET', '/proposals?cluster=prod-eu')).body['items'];
    expect((await move('sharded')).body['state']).toBe('moved');
    const anna = String((await plane.call('POST', '/admin-tokens', { name: 'anna' })).body['token']);
    const approved = await plane.call('POST', `/proposals/${proposal.id}/approve`, {}, { token: anna });
    expect(approved.status).toBe(200);
    await plane.until(String(asked['id']), 'delivered');
    expect(await tree()).toContain('clusters/33/prod-eu/apps/shop/podinfo.yaml');
    expect((await tree()).some((path) => path.startsWith('clusters/prod-eu/'))).toBe(false);
    const { body: merged } = await plane.call('GET', `/proposals/${proposal.id}`);
    expect([merged['state'], merged['revision']]).toEqual(['merged', 1]);
  });
});
