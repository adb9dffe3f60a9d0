/**
 * Intents to commits on the remote, one at a time and in a burst, in one run and in turns: our writer, which signs each
 * commit and whose host adds it to the repository that its cluster reads; what users do instead, through the same host and
 * without either; and as the limit the bare server's receive-pack, given packs of the same trees.
 *
 *   node bench/git/write.ts [--directories 1000,10000,100000] [--rounds 15] [--json]
 */
import { execFileSync } from 'node:child_process';
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { pino } from 'pino';
import { GitopsDelivery } from '../../src/delivery/gitops/write/gitops-delivery.ts';
import { clusterDirectory, type RepositoryLayout } from '../../src/delivery/gitops/layout.ts';
import { runGit } from '../../src/git/git-process.ts';
import type { Rendered } from '../../src/intent/rendered.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { Secret } from '../../src/runtime/secret.ts';
import { BareServer } from './bare-server.ts';
import { cloneForEach, IDENTITY, isomorphicPush, warmCheckout, type Peer } from './peers.ts';
import { fill, median, pick, renderedFor, slugOf, timed } from './repository.ts';
import { serveHost, type BenchHost } from './serve.ts';

const { values: options } = parseArgs({
  options: {
    directories: { type: 'string', default: '1000,10000,100000' },
    rounds: { type: 'string', default: '15' },
    json: { type: 'boolean', default: false },
  },
});
const rounds = Number(options.rounds);
const logger = pino({ level: 'silent' });
const BURST = 200;
/** A peer that has taken so long in all is not asked again. */
const PATIENCE_MS = 60_000;

interface Figures {
  readonly directories: number;
  readonly layout: RepositoryLayout;
  readonly oneMs: { readonly ours: number; readonly bare: number };
  readonly burst: { readonly oursMs: number; readonly pushes: number; readonly bareMs: number };
  readonly peers: readonly { readonly name: string; readonly ms: number; readonly rounds: number }[];
}

async function measure(count: number): Promise<Figures> {
  const layout: RepositoryLayout = count > 20_000 ? 'sharded' : 'flat';
  const folder = await mkdtemp(join(tmpdir(), 'git-write-'));
  await using served = await serveHost(join(folder, 'repositories'));
  try {
    const { host } = served;
    await host.ensureRepository('acme', { branch: 'main' });
    const repository = host.repositoryPath('acme');
    await fill(repository, count, layout);
    await using bare = new BareServer(join(folder, 'bare.git'), layout);
    for (const copy of [bare.path, ...['warm', 'isomorphic', 'clone'].map((name) => host.repositoryPath(name))]) {
      await cp(repository, copy, { recursive: true });
    }
    await using ours = openWriter(served, layout, folder);
    const deliver = async (batch: readonly Rendered[]): Promise<void> => {
      const receipts = await Array.fromAsync(ours.deliver(batch, AbortSignal.timeout(60_000)));
      const failed = receipts.find(({ state }) => state !== 'delivered');
      if (failed !== undefined || receipts.length !== batch.length) throw new Error(JSON.stringify(failed));
    };
    const token = served.mint(everyPick(count).map((slug) => scopeOf(layout, slug)));
    const peerOf = (name: string) => ({
      folder,
      layout,
      url: `${served.url.replace('://', `://any:${token}@`)}/${name}.git`,
    });
    const peers: readonly Peer[] = [
      await warmCheckout(peerOf('warm')),
      await isomorphicPush(peerOf('isomorphic')),
      cloneForEach(peerOf('clone')),
    ];

    const times = { ours: [] as number[], bare: [] as number[], peers: peers.map((): number[] => []) };
    for (let round = 0; round <= rounds; round += 1) {
      settle();
      const rendered = renderedFor(pick(round, count), round + 2);
      // The first time of each is not counted: connections and caches are made then.
      await timed(round === 0 ? [] : times.ours, async () => await deliver([rendered]));
      const push = await bare.plan([rendered]);
      await timed(round === 0 ? [] : times.bare, async () => await bare.receive(push));
      for (const [index, peer] of peers.entries()) {
        const spent = times.peers[index] ?? [];
        if (spent.reduce((sum, ms) => sum + ms, 0) > PATIENCE_MS) continue;
        await timed(round === 0 ? [] : spent, async () => await peer.write(rendered));
      }
    }
    settle();
    const before = served.counts().pushes;
    const batch = Array.from({ length: BURST }, (_, index) => renderedFor(slugOf(index), 1000));
    const burst = { ours: [] as number[], bare: [] as number[] };
    await timed(burst.ours, async () => await deliver(batch));
    const pushes = served.counts().pushes - before;
    const push = await bare.plan(batch);
    await timed(burst.bare, async () => await bare.receive(push));
    await accept(repository, folder);
    return {
      directories: count,
      layout,
      oneMs: { ours: median(times.ours), bare: median(times.bare) },
      burst: { oursMs: median(burst.ours), pushes, bareMs: median(burst.bare) },
      peers: peers.map(({ name }, index) => {
        const taken = times.peers[index] ?? [];
        return { name, ms: median(taken), rounds: taken.length };
      }),
    };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function openWriter(served: BenchHost, layout: RepositoryLayout, folder: string): GitopsDelivery {
  return new GitopsDelivery({
    repository: {
      name: 'acme',
      url: `${served.url}/acme.git`,
      branch: 'main',
      layout,
      localPath: served.host.repositoryPath('acme'),
    },
    mirrorPath: join(folder, 'mirror.git'),
    mintCredential: async (scope) => ({ username: 'service', password: new Secret(served.mint(scope, 'projected')) }),
    signCommit: served.sign,
    committer: IDENTITY,
    clock: systemClock,
    random: Math.random,
    logger,
  });
}

/** Git itself takes what was written for a whole and clean repository. */
async function accept(repository: string, folder: string): Promise<void> {
  await runGit(['fsck', '--strict'], { cwd: repository, timeoutMs: 900_000 });
  await runGit(['clone', '--quiet', '--no-checkout', repository, join(folder, 'accepted')], { timeoutMs: 900_000 });
}

/** What the peers have left to be written to disk is not to be waited for by whoever syncs next. */
function settle(): void {
  execFileSync('sync');
}

function everyPick(count: number): readonly string[] {
  return [...new Set(Array.from({ length: rounds + 1 }, (_, round) => pick(round, count)))];
}

function scopeOf(layout: RepositoryLayout, slug: string): { clusterId: string; directory: string } {
  return { clusterId: `c-${slug}`, directory: clusterDirectory(layout, slug) };
}

function say({ directories, layout, oneMs, burst, peers }: Figures): void {
  const lines = [
    `${directories} directories (${layout}), one intent at a time, medians of ${rounds} rounds in turns:`,
    `  the bare server's receive-pack ${oneMs.bare.toFixed(1)} ms`,
    `  ours ${oneMs.ours.toFixed(1)} ms, ${(oneMs.ours / oneMs.bare).toFixed(2)} of that`,
    ...peers.map(({ name, ms, rounds: taken }) => {
      const times = `${(ms / oneMs.ours).toFixed(1)} times ours${taken < rounds ? `, ${taken} rounds` : ''}`;
      return `  ${name} ${ms.toFixed(1)} ms, ${times}`;
    }),
    `${BURST} intents for ${BURST} clusters at once, each with a commit and a receipt: ` +
      `${burst.oursMs.toFixed(0)} ms in ${burst.pushes} push${burst.pushes === 1 ? '' : 'es'}, ` +
      `${((BURST * 1000) / burst.oursMs).toFixed(0)} a second; the bare server takes that pack in ${burst.bareMs.toFixed(0)} ms`,
  ];
  process.stdout.write(`${lines.join('\n')}\n`);
}

const all: Figures[] = [];
for (const count of options.directories.split(',').map(Number)) {
  const figures = await measure(count);
  all.push(figures);
  if (!options.json) say(figures);
}
if (options.json) process.stdout.write(`${JSON.stringify({ rounds, figures: all })}\n`);
