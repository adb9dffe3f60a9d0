import { existsSync } from 'node:fs';
import { chmod, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { EMPTY_TREE_ID } from '../../../src/git/git-object.ts';
import { git, gitFailure } from '../git-server.ts';
import { ProjectionStage } from './projection-stage.ts';

let stage: ProjectionStage;

beforeEach(async () => {
  stage = await ProjectionStage.start();
});
afterEach(async () => await stage[Symbol.asyncDispose]());

const WHOLE = { isItsDirectory: true, fsck: '', sharesObjects: false };

/** What a projection is held to, whatever way it came to be; `commits` are those that it was made of, oldest first. */
async function seen(slug: string, directory = `clusters/${slug}`): Promise<unknown> {
  const tip = await stage.read(slug);
  const tree = await stage.projected(slug, 'rev-parse', `${tip}^{tree}`);
  const log = await stage.projected(slug, 'log', '--reverse', '--format=%(trailers:key=Source-Commit,valueonly)', tip);
  return {
    isItsDirectory: tree === (await stage.shared('rev-parse', `main:${directory}`)),
    commits: log.split('\n').filter((line) => line !== ''),
    fsck: await stage.projected(slug, 'fsck', '--strict', '--no-dangling'),
    sharesObjects: existsSync(join(stage.server.path(`clusters/${slug}`), 'objects/info/alternates')),
  };
}

describe('the projection of a cluster', () => {
  it('holds its directory as root and only the commits that changed it, before the push is answered', async () => {
    const eu = await stage.bring('prod-eu', 'one');
    await stage.bring('prod-us', 'other');
    const again = await stage.bring('prod-eu', 'two');
    // Not asked for yet: the push has brought it.
    expect(await stage.projected('prod-eu', 'rev-parse', 'main^{tree}')).toBe(
      await stage.shared('rev-parse', 'main:clusters/prod-eu'),
    );
    expect(await seen('prod-eu')).toEqual({ ...WHOLE, commits: [eu, again] });
    expect(await stage.projected('prod-eu', 'ls-tree', '-r', '--name-only', 'main')).toBe(
      'apps/shop/one.yaml\napps/shop/two.yaml',
    );
  });

  it('keeps author, committer, dates, message and trailers, and names the original commit', async () => {
    await stage.write('clusters/prod-eu/apps/shop/one.yaml');
    const id = await stage.commit(
      'prod-eu',
      'größer: install one',
      '--author',
      'Ä Person <ä@example.test>',
      '--date',
      '1700000000 +0530',
    );
    await stage.push();
    const format = '%an|%ae|%ad|%cn|%ce|%cd|%s|%(trailers:key=Intent-Id,valueonly)';
    expect(await stage.projected('prod-eu', 'log', '-1', `--format=${format}`, 'main')).toBe(
      await stage.shared('log', '-1', `--format=${format}`, 'main'),
    );
    const message = await stage.shared('log', '-1', '--format=%B', 'main');
    expect(await stage.projected('prod-eu', 'log', '-1', '--format=%B', 'main')).toBe(
      `${message.trimEnd()}\nSource-Commit: ${id}\n`,
    );
    expect(
      await stage.projected('prod-eu', 'log', '-1', '--format=%(trailers:key=Source-Commit,valueonly)', 'main'),
    ).toBe(`${id}\n`);
  });

  it('takes several commits of several clusters from one push, each with its own history', async () => {
    const ids: Record<string, string[]> = { 'prod-eu': [], 'prod-us': [] };
    for (const [slug, name] of [
      ['prod-eu', 'a'],
      ['prod-us', 'b'],
      ['prod-eu', 'c'],
      ['prod-eu', 'd'],
    ] as const) {
      await stage.write(`clusters/${slug}/apps/shop/${name}.yaml`);
      ids[slug]?.push(await stage.commit(slug));
    }
    await stage.push();
    expect(await seen('prod-eu')).toEqual({ ...WHOLE, commits: ids['prod-eu'] ?? [] });
    expect(await seen('prod-us')).toEqual({ ...WHOLE, commits: ids['prod-us'] ?? [] });
  });

  it('does not move when another cluster’s directory changes', async () => {
    await stage.bring('prod-eu', 'one');
    const before = await stage.read('prod-eu');
    const state = await readFile(join(stage.server.path('clusters/prod-eu'), 'projection.json'), 'utf8');
    await stage.bring('prod-us', 'other');
    expect(await stage.read('prod-eu')).toBe(before);
    expect(await readFile(join(stage.server.path('clusters/prod-eu'), 'projection.json'), 'utf8')).toBe(state);
  });

  it('is made of the whole history when it is first read, as after an upgrade', async () => {
    const ids = [await stage.bring('prod-eu', 'one'), await stage.bring('prod-eu', 'two')];
    const made = await stage.read('prod-eu');
    await stage.dropProjection('prod-eu');
    ids.push(await stage.bring('prod-eu', 'three'));
    expect(existsSync(stage.server.path('clusters/prod-eu'))).toBe(false);
    expect(await seen('prod-eu')).toEqual({ ...WHOLE, commits: ids });
    // Made of the same commits it is the same.
    await stage.projected('prod-eu', 'merge-base', '--is-ancestor', made, 'main');
  });

  it('makes good a push that was not followed, when the cluster reads', async () => {
    const ids = [await stage.bring('prod-eu', 'one')];
    const before = await stage.read('prod-eu');
    ids.push(await stage.bring('prod-eu', 'two'));
    // As if the process had ended between the two.
    await stage.projected('prod-eu', 'update-ref', 'refs/heads/main', before);
    await stage.restart();
    expect(await stage.read('prod-eu')).not.toBe(before);
    expect(await seen('prod-eu')).toEqual({ ...WHOLE, commits: ids });
  });

  it('is made anew when somebody takes it away while the host runs', async () => {
    const ids = [await stage.bring('prod-eu', 'one')];
    await stage.read('prod-eu');
    await rm(stage.server.path('clusters/prod-eu'), { recursive: true });
    expect(await seen('prod-eu')).toEqual({ ...WHOLE, commits: ids });
  });

  it('is checked once after the machine has started anew, and not again for what other machines write', async () => {
    const ids = [await stage.bring('prod-eu', 'one')];
    const file = join(stage.server.path('clusters/prod-eu'), 'projection.json');
    const state = JSON.parse(await readFile(file, 'utf8')) as Record<string, unknown>;
    await writeFile(file, JSON.stringify({ ...state, boot: 'an earlier life', packs: 7 }));
    await stage.restart();
    expect(await seen('prod-eu')).toEqual({ ...WHOLE, commits: ids });
    // Counted anew by the check, and noted as seen in this life.
    expect(JSON.parse(await readFile(file, 'utf8'))).toEqual({ ...state, packs: 1 });
    await writeFile(file, JSON.stringify({ ...state, boot: 'another machine', packs: 7 }));
    ids.push(await stage.bring('prod-us', 'other').then(async () => await stage.bring('prod-eu', 'two')));
    expect(await seen('prod-eu')).toEqual({ ...WHOLE, commits: ids });
    expect(JSON.parse(await readFile(file, 'utf8'))).toMatchObject({ packs: 8 });
  });

  it('is made anew when what it holds is damaged', async () => {
    const ids = [await stage.bring('prod-eu', 'one'), await stage.bring('prod-eu', 'two')];
    const path = stage.server.path('clusters/prod-eu');
    await writeFile(join(path, 'projection.json'), '{"tip":');
    for (const file of await packFiles(path)) await writeFile(file, 'x');
    await stage.restart();
    expect(await seen('prod-eu')).toEqual({ ...WHOLE, commits: ids });
  });

  it('follows a person’s commits past the host, and a directory that is removed becomes empty', async () => {
    const ids = [await stage.bring('prod-eu', 'one')];
    await stage.write('clusters/prod-eu/apps/shop/by-hand.yaml');
    await git(stage.work, ['commit', '--quiet', '-m', 'by hand']);
    ids.push(await git(stage.work, ['rev-parse', 'HEAD']));
    await git(stage.work, ['push', '--quiet', stage.server.path('acme'), 'HEAD:main']);
    expect(await seen('prod-eu')).toEqual({ ...WHOLE, commits: ids });
    await git(stage.work, ['rm', '-r', '--quiet', 'clusters/prod-eu']);
    await git(stage.work, ['commit', '--quiet', '-m', 'gone']);
    await git(stage.work, ['push', '--quiet', stage.server.path('acme'), 'HEAD:main']);
    const tip = await stage.read('prod-eu');
    expect(await stage.projected('prod-eu', 'rev-parse', `${tip}^{tree}`)).toBe(EMPTY_TREE_ID);
    expect(await stage.projected('prod-eu', 'fsck', '--strict', '--no-dangling')).toBe('');
    await stage.clone('prod-eu');
    ids.push(await git(stage.work, ['rev-parse', 'HEAD']), await stage.bring('prod-eu', 'back'));
    expect(await seen('prod-eu')).toEqual({ ...WHOLE, commits: ids });
  });

  it('is rewritten with the shared branch, as after a restored backup', async () => {
    const first = await stage.bring('prod-eu', 'one');
    await stage.bring('prod-eu', 'lost');
    await stage.shared('update-ref', 'refs/heads/main', first);
    expect(await seen('prod-eu')).toEqual({ ...WHOLE, commits: [first] });
    await git(stage.work, ['reset', '--quiet', '--hard', first]);
    const next = await stage.bring('prod-eu', 'after');
    expect(await seen('prod-eu')).toEqual({ ...WHOLE, commits: [first, next] });
  });

  it('sees no change when the repository is moved to another layout', async () => {
    const id = await stage.bring('prod-eu', 'one');
    const before = await stage.read('prod-eu');
    const moved = await stage.moveByHand('clusters/prod-eu', 'clusters/00/prod-eu');
    stage.places.set('prod-eu', {
      now: 'clusters/00/prod-eu',
      moves: [{ id: 'lmove-1', commit: moved, from: 'clusters/prod-eu', to: 'clusters/00/prod-eu' }],
    });
    expect(await stage.read('prod-eu')).toBe(before);
    expect(await seen('prod-eu', 'clusters/00/prod-eu')).toEqual({ ...WHOLE, commits: [id] });
  });

  it('knows nothing of proposals until they are merged', async () => {
    const ids = [await stage.bring('prod-eu', 'one')];
    await stage.write('clusters/prod-eu/apps/shop/proposed.yaml');
    const proposed = await stage.commit('prod-eu', 'propose');
    await git(stage.work, ['push', '--quiet', 'origin', 'HEAD:refs/heads/proposals/prod-eu/int-1']);
    expect(await seen('prod-eu')).toEqual({ ...WHOLE, commits: ids });
    const refs = await git(stage.work, ['ls-remote', stage.remote('prod-eu')]);
    expect(refs).not.toContain('proposals');
    const blob = await stage.shared('rev-parse', `${proposed}:clusters/prod-eu/apps/shop/proposed.yaml`);
    const all = await stage.projected('prod-eu', 'cat-file', '--batch-all-objects', '--batch-check=%(objectname)');
    expect(all).not.toContain(blob);
    await stage.push();
    expect(await seen('prod-eu')).toEqual({ ...WHOLE, commits: [...ids, proposed] });
  });

  it('is an empty repository before its cluster’s first commit', async () => {
    expect(await stage.read('prod-eu')).toBe('');
    const id = await stage.bring('prod-eu', 'one');
    expect(await seen('prod-eu')).toEqual({ ...WHOLE, commits: [id] });
  });

  it('is read only, and takes no push', async () => {
    await stage.bring('prod-eu', 'one');
    const clone = await stage.clone('prod-eu');
    await git(clone, ['commit', '--quiet', '--allow-empty', '-m', 'x']);
    expect(await gitFailure(clone, ['push', 'origin', 'HEAD:main'])).toContain('may only read');
  });
});

async function packFiles(path: string): Promise<readonly string[]> {
  const folder = join(path, 'objects/pack');
  const files = (await readdir(folder)).map((file) => join(folder, file));
  expect(files).toHaveLength(4);
  await Promise.all(files.map(async (file) => await chmod(file, 0o644)));
  return files;
}
