import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
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

// SHA-256 of the slug begins with these two digits: sha256("prod-eu") = 86…, sha256("de") = …
const PATHS = { 'prod-eu': '', de: '' };

describe('moving the layout of a repository', () => {
  it('is one commit that leaves every directory as it was, and back again gives the same tree', async () => {
    for (const slug of Object.keys(PATHS)) await install(await plane.newCluster(slug));
    const before = { root: await treeId(''), eu: await treeId('clusters/prod-eu'), files: await tree() };
    const revisions = plane.query('SELECT slug, desired_revision FROM clusters ORDER BY slug');
    const commits = Number((await plane.git('rev-list', '--count', 'main')).trim());

    expect((await move('sharded', true)).body).toMatchObject({ state: 'planned', directories: 2, collisions: [] });
    expect(await treeId('')).toBe(before.root);
    const moved = await move('sharded');
    expect([moved.status, moved.body]).toEqual([
      200,
      { name: 'fleet', from: 'flat', to: 'sharded', state: 'moved', directories: 2 },
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
});
