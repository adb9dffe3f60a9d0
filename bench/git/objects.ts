/**
 * The objects of one intent (a blob, five trees, a commit) and the pack that holds them, read from and built for a
 * repository of many cluster directories: by `src/git`, and by isomorphic-git with its cache kept warm. Same repository,
 * same edit, in turns, nothing sent.
 *
 *   node bench/git/objects.ts [--directories 1000,10000] [--rounds 20]
 */
import * as fs from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { packObjects, readTree, writeBlob, writeCommit, writeTree } from 'isomorphic-git';
import { pino } from 'pino';
import { ExpiredTombstones } from '../../src/delivery/gitops/write/expired-tombstones.ts';
import { clusterDirectory } from '../../src/delivery/gitops/layout.ts';
import { planChain } from '../../src/delivery/gitops/write/plan-chain.ts';
import { runGit } from '../../src/git/git-process.ts';
import { Mirror } from '../../src/git/mirror.ts';
import { writePack } from '../../src/git/pack.ts';
import { fill, median, pick, renderedFor, timed } from './repository.ts';

const { values: options } = parseArgs({
  options: {
    directories: { type: 'string', default: '1000,10000' },
    rounds: { type: 'string', default: '20' },
  },
});
const rounds = Number(options.rounds);
const IDENTITY = { name: 'Bench', email: 'bench@example.test' };

async function measure(count: number): Promise<{ readonly oursMs: number; readonly isomorphicMs: number }> {
  const folder = await mkdtemp(join(tmpdir(), 'git-objects-'));
  const gitdir = join(folder, 'bare.git');
  try {
    await runGit(['init', '--quiet', '--bare', '--initial-branch=main', gitdir]);
    await fill(gitdir, count, 'flat');
    await using mirror = new Mirror({
      path: gitdir,
      url: 'http://127.0.0.1:1/',
      branch: 'main',
      logger: pino({ level: 'silent' }),
    });
    const commit = (await mirror.tip()) ?? '';
    const tip = { commit, root: await mirror.readTreeOfCommit(commit) };
    const deps = {
      reader: mirror,
      layout: 'flat',
      committer: IDENTITY,
      tombstones: new ExpiredTombstones(),
      now: new Date(),
    } as const;
    const cache = {};

    const ours = async (slug: string, generation: number): Promise<number> => {
      const plan = await planChain(deps, tip, [renderedFor(slug, generation)]);
      return (
        await writePack(
          plan.commits.flatMap(({ objects }) => objects),
          { thin: true },
        )
      ).length;
    };
    const isomorphic = async (slug: string, generation: number): Promise<number> => {
      const repository = { fs, gitdir, cache };
      const path = [...clusterDirectory('flat', slug).split('/'), 'apps', 'shop'];
      const trees = [];
      for (let depth = 0; depth <= path.length; depth += 1) {
        const filepath = path.slice(0, depth).join('/');
        trees.push((await readTree({ ...repository, oid: commit, ...(filepath === '' ? {} : { filepath }) })).tree);
      }
      let oid = await writeBlob({ ...repository, blob: Buffer.from(renderedFor(slug, generation).text) });
      const oids = [oid];
      let entry = { mode: '100644', path: 'podinfo.yaml', oid, type: 'blob' as 'blob' | 'tree' };
      for (let depth = path.length; depth >= 0; depth -= 1) {
        const tree = (trees[depth] ?? []).filter((known) => known.path !== entry.path);
        oid = await writeTree({ ...repository, tree: [...tree, entry] });
        oids.push(oid);
        entry = { mode: '040000', path: path[depth - 1] ?? '', oid, type: 'tree' };
      }
      const by = { ...IDENTITY, timestamp: 1_700_000_000 + generation, timezoneOffset: 0 };
      const message = `${slug}: update shop/podinfo\n`;
      oids.push(
        await writeCommit({
          ...repository,
          commit: { tree: oid, parent: [commit], author: by, committer: by, message },
        }),
      );
      const { packfile } = await packObjects({ ...repository, oids });
      return packfile?.length ?? 0;
    };

    const times = { ours: [] as number[], isomorphic: [] as number[] };
    for (let round = 0; round <= rounds; round += 1) {
      const slug = pick(round, count);
      const into = round === 0 ? { ours: [], isomorphic: [] } : times;
      await timed(into.ours, async () => await ours(slug, round + 2));
      await timed(into.isomorphic, async () => await isomorphic(slug, round + 2));
    }
    await runGit(['fsck', '--strict', '--no-dangling'], { cwd: gitdir, timeoutMs: 600_000 });
    return { oursMs: median(times.ours), isomorphicMs: median(times.isomorphic) };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

for (const text of options.directories.split(',')) {
  const { oursMs, isomorphicMs } = await measure(Number(text));
  process.stdout.write(
    `${text} directories: src/git ${oursMs.toFixed(2)} ms, isomorphic-git ${isomorphicMs.toFixed(2)} ms (${(isomorphicMs / oursMs).toFixed(1)} times ours)\n`,
  );
}
