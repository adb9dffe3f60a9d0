import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { runGit } from '../../../src/git/git-process.ts';
import { git } from '../git-server.ts';
import { projectionOf, ProjectionStage } from './projection-stage.ts';

const SLUGS = Array.from({ length: 200 }, (_, index) => `cluster-${index}`);

let stage: ProjectionStage;
let path: string | undefined;

beforeEach(() => {
  path = process.env['PATH'];
});
afterEach(async () => {
  process.env['PATH'] = path;
  await stage[Symbol.asyncDispose]();
});

/** One commit for each of the clusters, in one push. */
async function pushForEach(slugs: readonly string[], round: number): Promise<void> {
  const base = await git(stage.work, ['rev-parse', 'HEAD']);
  const stream = slugs.map((slug, index) => {
    const message = `change ${round}\n\nCluster-Id: c-${slug}\n`;
    const text = `content ${round} of ${slug}\n`;
    const from = index === 0 ? `from ${base}\n` : '';
    const file = `M 100644 inline clusters/${slug}/apps/shop/podinfo.yaml\ndata ${text.length}\n${text}`;
    return `commit refs/heads/main\ncommitter P <p@example.test> ${1_700_000_000 + index} +0000\ndata ${message.length}\n${message}${from}${file}\n`;
  });
  await git(stage.work, ['fast-import', '--quiet', '--force'], { input: stream.join('') });
  await stage.push();
  await git(stage.work, ['reset', '--quiet', '--soft', 'main']);
}

/** From now on each git process of this one writes a line: the file with those lines. */
async function countProcesses(): Promise<string> {
  const folder = join(stage.server.folder, 'counting');
  const file = join(folder, 'calls');
  await mkdir(folder);
  const real = (await runGit(['--exec-path'])).toString('utf8').trim();
  await writeFile(join(folder, 'git'), `#!/bin/sh\necho "$1" >>'${file}'\nexec '${real}/git' "$@"\n`);
  await chmod(join(folder, 'git'), 0o755);
  process.env['PATH'] = `${folder}:${path ?? ''}`;
  return file;
}

describe('the projections of many clusters', () => {
  it('are brought up to date by one push for 200 of them without a process for each', async () => {
    stage = await ProjectionStage.start(SLUGS);
    await pushForEach(SLUGS, 1);
    const calls = await countProcesses();
    await pushForEach(SLUGS, 2);
    const host = (await readFile(calls, 'utf8'))
      .split('\n')
      .filter((call) => /^(index-pack|log|cat-file|unpack-objects)$/.test(call));
    process.env['PATH'] = path;
    expect(host).toContain('log');
    expect(host.length).toBeLessThanOrEqual(3);
    const list = await stage.shared('ls-tree', 'main:clusters');
    const trees = new Map(list.split('\n').map((line) => [line.slice(53), line.slice(12, 52)]));
    const states = await Promise.all(
      SLUGS.map(async (slug) => {
        const state = await readFile(join(stage.server.path(`clusters/${slug}`), 'projection.json'), 'utf8');
        return [slug, (JSON.parse(state) as { tree: string }).tree] as const;
      }),
    );
    expect(new Map(states)).toEqual(trees);
    for (const slug of ['cluster-0', 'cluster-199']) {
      expect(await stage.projected(slug, 'rev-list', '--count', 'main')).toBe('2');
      expect(await stage.projected(slug, 'fsck', '--strict')).toBe('');
    }
  });

  it('are repacked when they have come to many packs, and stay readable', { timeout: 90_000 }, async () => {
    stage = await ProjectionStage.start(['prod-eu']);
    for (let round = 1; round <= 55; round += 1) await pushForEach(['prod-eu'], round);
    await expect
      .poll(async () => Number(/packs: (\d+)/.exec(await stage.projected('prod-eu', 'count-objects', '-v'))?.[1]), {
        timeout: 10_000,
      })
      .toBeLessThan(20);
    await pushForEach(['prod-eu'], 56);
    expect(await stage.read('prod-eu')).toBe(await stage.projected('prod-eu', 'rev-parse', 'main'));
    expect(await stage.projected('prod-eu', 'rev-list', '--count', 'main')).toBe('56');
    expect(await stage.projected('prod-eu', 'fsck', '--strict')).toBe('');
  });

  it('are repacked within the hour, and those of no cluster go', async () => {
    stage = await ProjectionStage.start(['prod-eu', 'prod-us']);
    for (let round = 1; round <= 12; round += 1) await pushForEach(['prod-eu', 'prod-us'], round);
    await stage.server.host.tidyProjections(async () => new Set(['clusters/prod-eu']), AbortSignal.timeout(20_000));
    expect(await stage.projected('prod-eu', 'count-objects', '-v')).toContain('packs: 1\n');
    expect(await stage.projected('prod-eu', 'rev-list', '--count', 'main')).toBe('12');
    await expect(stage.projected('prod-us', 'rev-parse', 'main')).rejects.toThrow('ENOENT');
    // It comes back when its cluster reads, should it have been taken away by mistake.
    expect(await stage.read('prod-us')).toMatch(/^[0-9a-f]{40}$/);
  });

  it('begin with the state of then where the shared history is long', async () => {
    stage = await ProjectionStage.start(['prod-eu', 'prod-us']);
    await pushForEach(['prod-eu'], 1);
    await pushForEach(['prod-eu'], 2);
    for (let round = 1; round <= 3; round += 1)
      await pushForEach(
        Array.from({ length: 170 }, () => 'prod-us'),
        round,
      );
    await pushForEach(['prod-eu'], 3);
    await stage.dropProjection('prod-eu');
    await stage.restart();
    const tip = await stage.read('prod-eu');
    const log = await stage.projected('prod-eu', 'log', '--reverse', '--format=%s', tip);
    expect(log).toMatch(/^The directory as it was at commit [0-9a-f]{12}\nchange 3$/);
    expect(await stage.projected('prod-eu', 'rev-parse', `${tip}^{tree}`)).toBe(
      await stage.shared('rev-parse', 'main:clusters/prod-eu'),
    );
    expect(await stage.projected('prod-eu', 'fsck', '--strict')).toBe('');
  });

  it('never show the folder of many clusters to one that is called as it is', async () => {
    stage = await ProjectionStage.start(['ab']);
    // Somebody moved the repository to the sharded layout; the host still believes that it is flat.
    await stage.write('clusters/ab/prod-us/apps/shop/secret.yaml');
    await git(stage.work, ['commit', '--quiet', '-m', 'sharded']);
    await git(stage.work, ['push', '--quiet', stage.server.path('acme'), 'HEAD:main']);
    expect(projectionOf('ab').directory).toBe('clusters/ab');
    expect(await stage.read('ab')).toBe('');
    await stage.write('clusters/ab/README.md');
    await stage.write('clusters/ab/apps/shop/mine.yaml');
    await git(stage.work, ['rm', '-r', '--quiet', 'clusters/ab/prod-us']);
    await git(stage.work, ['commit', '--quiet', '-m', 'flat again']);
    await git(stage.work, ['push', '--quiet', stage.server.path('acme'), 'HEAD:main']);
    await stage.read('ab');
    expect(await stage.projected('ab', 'log', '--format=%s', 'main')).toBe('flat again');
    expect(await stage.projected('ab', 'ls-tree', '-r', '--name-only', 'main')).toBe('README.md\napps/shop/mine.yaml');
  });
});
