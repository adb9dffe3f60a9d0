import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { pino } from 'pino';
import { Mirror } from '../../src/git/mirror.ts';
import { apply } from '../delivery/gitops/write/rendered-intent.ts';
import { commitByHand, delivered, onServer, startAcme, writerOn } from '../delivery/gitops/write/writer.ts';
import { git, type GitServer } from './git-server.ts';

/** A year of one repository: some fifty-five commits a day. */
const COMMITS = 20_000;
const CLUSTERS = 100;
const signal = (): AbortSignal => AbortSignal.timeout(60_000);

/** Input of `git fast-import` for a year of updates, the clusters in turn. */
function yearOfCommits(): string {
  const parts: string[] = [];
  for (let index = 0; index < COMMITS; index += 1) {
    const slug = `cluster-${(index * 7) % CLUSTERS}`;
    const message = `${slug}: update shop/podinfo\n\nIntent-Id: old-${index}\nCluster-Id: c-${slug}\n`;
    const body = `generation: ${index}\n`;
    const when = 1_760_000_000 + index * 60;
    parts.push(
      `commit refs/heads/main\ncommitter x <x@example.test> ${when} +0000\ndata ${message.length}\n${message}\n`,
      ...(index === 0 ? ['from refs/heads/main^0\n'] : []),
      `M 100644 inline clusters/${slug}/apps/shop/podinfo.yaml\ndata ${body.length}\n${body}\n`,
    );
  }
  return parts.join('');
}

let server: GitServer;

beforeAll(async () => {
  server = await startAcme();
  await git(server.path('acme'), ['fast-import', '--quiet'], { input: yearOfCommits() });
}, 120_000);

afterAll(async () => await server[Symbol.asyncDispose]());

async function packs(mirror: string): Promise<number> {
  return (await readdir(join(mirror, 'objects', 'pack'))).filter((name) => name.endsWith('.pack')).length;
}

describe('a mirror with a year of commits', () => {
  it('stays in few packs, and costs a write what it cost on the first day', { timeout: 120_000 }, async () => {
    const mirrorPath = join(server.folder, 'year.git');
    await using delivery = writerOn(server, { mirrorPath });
    await delivered(delivery, [apply({ slug: 'cluster-1' })]);
    await delivery.maintain(signal());
    // Each write is flushed by itself, as on a day with little to do.
    for (let generation = 2; generation <= 16; generation += 1) {
      await delivered(delivery, [apply({ slug: 'cluster-1', generation, version: `6.5.${generation}` })]);
      await commitByHand(server, 'README.md', `${generation}\n`);
    }
    expect(await packs(mirrorPath)).toBeGreaterThan(4);
    await delivery.maintain(signal());
    expect(await packs(mirrorPath)).toBeLessThanOrEqual(3);
    expect(await git(mirrorPath, ['count-objects'])).toMatch(/^0 objects/);
    const before = server.requests.length;
    await delivered(delivery, [apply({ slug: 'cluster-1', generation: 30, version: '7.0.0' })]);
    // The known tip was moved by hand: turned away once, told where it is, pushed again.
    expect(server.requests.length - before).toBeLessThanOrEqual(5);
    await delivered(delivery, [apply({ slug: 'cluster-1', generation: 31, version: '7.0.1' })]);
    const after = server.requests.length;
    await delivered(delivery, [apply({ slug: 'cluster-1', generation: 32, version: '7.0.2' })]);
    expect(server.requests.length - after).toBe(1);
  });

  it('finds the last commit of a path by its filters, not by reading every commit', { timeout: 60_000 }, async () => {
    const mirrorPath = join(server.folder, 'year.git');
    const trace = join(server.folder, 'trace');
    await git(mirrorPath, ['rev-list', '--max-count=1', 'main', '--', 'clusters/nobody/apps'], {
      env: { GIT_TRACE2_PERF: trace },
    });
    const statistics = /"definitely_not":(\d+)/.exec(await readFile(trace, 'utf8'));
    expect(Number(statistics?.[1])).toBeGreaterThan(COMMITS * 0.9);
  });
});

describe('a mirror whose branch was rewritten', () => {
  it('drops what only the old history had, and goes on', async () => {
    await using small = await startAcme();
    const mirrorPath = join(small.folder, 'mirror.git');
    await using delivery = writerOn(small, { mirrorPath });
    const root = await onServer(small, 'rev-parse', 'main');
    const [lost] = await delivered(delivery, [apply({})]);
    await onServer(small, 'update-ref', 'refs/heads/main', root);
    await delivered(delivery, [apply({ name: 'other' })]);
    await delivery.maintain(signal());
    await expect(git(mirrorPath, ['cat-file', '-e', String(lost)])).rejects.toThrow('exit 1');
    await delivered(delivery, [apply({})]);
    await delivery.maintain(signal());
    await git(mirrorPath, ['fsck', '--strict', '--connectivity-only']);
    await git(mirrorPath, ['commit-graph', 'verify']);
  });

  it('has nothing to maintain before the first fetch', async () => {
    await using mirror = new Mirror({
      path: join(server.folder, 'empty.git'),
      url: server.remote('acme'),
      branch: 'main',
      logger: pino({ level: 'silent' }),
    });
    await mirror.maintain(signal());
    expect(await mirror.tip()).toBeUndefined();
  });
});
