import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { clusterDirectory, type RepositoryLayout } from '../../../src/delivery/gitops/layout.ts';
import { hashToken, mintToken } from '../../../src/protocol/token.ts';
import { gitEnv, INSTALL, RunningControlPlane } from '../running-control-plane.ts';

const run = promisify(execFile);
const shardOf = (slug: string): string => clusterDirectory('sharded', slug).split('/')[1] ?? '';

/** Named as folders of a cluster's directory, as the shards of those, and as shards of others. */
const FOLDERS = ['apps', 'operations', 'tombstones'];
const SLUGS = [...FOLDERS, ...FOLDERS.map(shardOf), 'de', 'e2', 'prod-316', 'prod-533'];

let plane: RunningControlPlane;
const tokens = new Map<string, string>();

beforeEach(async () => {
  plane = await RunningControlPlane.start();
  await plane.putPodinfo();
});
afterEach(async () => await plane[Symbol.asyncDispose]());

/** What only this cluster may know stands in the names of its objects, so in blobs, trees and messages. */
async function install(slug: string, name: string): Promise<void> {
  const { body } = await plane.call('POST', `/clusters/${slug}/intents`, { ...INSTALL, name: `own-${name}-${slug}` });
  await plane.until(String(body['id']), 'delivered');
}

async function create(slug: string): Promise<void> {
  await plane.newCluster(slug);
  const token = mintToken('svcgit', (n) => randomBytes(n)).expose();
  tokens.set(slug, token);
  await plane.execute(
    `INSERT INTO git_credentials (id, token_hash, repository_id, access, cluster_id, created_at, expires_at)
     SELECT ?, ?, repository_id, 'read', id, ?, ? FROM clusters WHERE slug = ?`,
    `gitcred-${slug}`,
    hashToken(token),
    '2026-01-01T00:00:00.000Z',
    '2999-01-01T00:00:00.000Z',
    slug,
  );
}

/** Reads as the cluster does; gives every object of its repository as text, and the tree of the tip. */
async function read(slug: string): Promise<{ readonly text: string; readonly tree: string }> {
  const env = gitEnv({ username: 'any', password: tokens.get(slug) ?? '' });
  const { stdout } = await run('git', ['ls-remote', `${plane.url}/git/clusters/${slug}.git`, 'refs/heads/main'], {
    env,
  });
  const projection = ['-C', join(plane.folder, `git/clusters/${slug}.git`)];
  const all = ['cat-file', '--batch-all-objects', '--batch'];
  const { stdout: text } = await run('git', [...projection, ...all], { encoding: 'latin1', maxBuffer: 1e8 });
  if (stdout === '') return { text, tree: '' };
  return { text, tree: (await run('git', [...projection, 'rev-parse', `${stdout.slice(0, 40)}^{tree}`])).stdout };
}

async function check(slugs: readonly string[], layout: RepositoryLayout): Promise<void> {
  for (const slug of slugs) {
    const { text, tree } = await read(slug);
    const named = new Set([...text.matchAll(/own-[a-z]+-([a-z0-9-]+?)(?=[^a-z0-9-]|\.yaml)/g)].map(([, of]) => of));
    expect([slug, layout, [...named].filter((of) => of !== slug)]).toEqual([slug, layout, []]);
    const there = await plane.git('rev-parse', `main:${clusterDirectory(layout, slug)}`).catch(() => '');
    expect([slug, layout, tree]).toEqual([slug, layout, there]);
  }
}

const move = async (layout: RepositoryLayout): Promise<void> => {
  const { body } = await plane.call('POST', '/repositories/fleet/layout', { layout });
  expect(body['state']).toBe('moved');
};

async function forget(): Promise<void> {
  await rm(join(plane.folder, 'git/clusters'), { recursive: true, force: true });
}

it('no cluster reads an object of another, whatever it is called, in both layouts and over moves', async () => {
  const [written, empty] = [SLUGS.filter((slug) => !FOLDERS.includes(slug) && slug !== 'e2'), [...FOLDERS, 'e2']];
  for (const slug of SLUGS) await create(slug);
  for (const slug of written) await install(slug, 'first');
  // Without a directory of their own yet: their places in the other layout are in the directories of others.
  await check(SLUGS, 'flat');
  await move('sharded');
  await check(SLUGS, 'sharded');
  for (const slug of empty) await install(slug, 'first');
  await check(SLUGS, 'sharded');
  await move('flat');
  for (const slug of SLUGS) await install(slug, 'second');
  await forget();
  await check(SLUGS, 'flat');
  await move('sharded');
  await forget();
  await check(SLUGS, 'sharded');
  // Each has its whole history, through all moves.
  for (const slug of SLUGS) {
    const { stdout } = await run('git', [
      '-C',
      join(plane.folder, `git/clusters/${slug}.git`),
      'log',
      '--format=%s',
      'main',
    ]);
    expect([slug, stdout.trim().split('\n')]).toEqual([
      slug,
      [`install shop/own-second-${slug}`, `install shop/own-first-${slug}`].map((text) =>
        expect.stringContaining(text.slice(13)),
      ),
    ]);
  }
}, 120_000);

it('a README that somebody puts into a shard makes no cluster’s directory of it', async () => {
  const slug = shardOf('prod-316');
  await create('prod-316');
  await install('prod-316', 'first');
  await move('sharded');
  const work = await mkdtemp(join(tmpdir(), 'by-hand-'));
  await run('git', ['clone', '--quiet', join(plane.folder, 'git/fleet.git'), work]);
  const file = join(work, 'clusters', slug, 'README.md');
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, 'a shard\n');
  const git = ['-c', 'user.name=A person', '-c', 'user.email=p@example.com', '-C', work];
  await run('git', [...git, 'add', '-A']);
  await run('git', [...git, 'commit', '--quiet', '-m', 'a README']);
  await run('git', [...git, 'push', '--quiet', 'origin', 'HEAD:main']);
  await create(slug);
  await check(['prod-316', slug], 'sharded');
  expect((await read(slug)).tree).toBe('');
});

it('a cluster reads its own directory and nothing else while a move is pushed and not yet on record', async () => {
  for (const slug of ['prod-316', 'e2', 'd5', 'apps']) await create(slug);
  for (const slug of ['prod-316', 'd5']) await install(slug, 'first');
  await move('sharded');
  const row = plane.query('SELECT layout_history FROM repositories')[0] as { layout_history: string };
  const [{ id }] = JSON.parse(row.layout_history) as [{ id: string }];
  const pending = { id, to: 'sharded', requestedBy: 'admin', requestedAt: new Date().toISOString() };
  // As the database is between the push of a move and its record, while another replica has the repository.
  await plane.execute("UPDATE clusters SET git_directory = 'clusters/' || slug");
  await plane.execute(
    "UPDATE repositories SET layout = 'flat', layout_history = NULL, layout_move = ?",
    JSON.stringify(pending),
  );
  await forget();
  await check(['prod-316', 'e2', 'd5', 'apps'], 'sharded');
  expect(existsSync(join(plane.folder, 'git/clusters/d5.git'))).toBe(true);
});
