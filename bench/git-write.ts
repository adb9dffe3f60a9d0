/**
 * One intent at a time to a commit on the remote: our writer through the embedded host, native git in a full checkout
 * kept warm through the same host, and the bare server's receive-pack given the same packs. All in one run, in turns.
 *
 *   node bench/git-write.ts --directories 1000,10000,100000 [--rounds 20] [--json]
 */
import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { parseArgs } from 'node:util';
import { pino } from 'pino';
import { ExpiredTombstones } from '../src/delivery/gitops/expired-tombstones.ts';
import { GitopsDelivery } from '../src/delivery/gitops/gitops-delivery.ts';
import { clusterDirectory, type RepositoryLayout } from '../src/delivery/gitops/layout.ts';
import { planChain } from '../src/delivery/gitops/plan-chain.ts';
import { EmbeddedHost } from '../src/git/embedded-host/embedded-host.ts';
import type { GitAccess } from '../src/git/embedded-host/git-access.ts';
import { runGit } from '../src/git/git-process.ts';
import { Mirror } from '../src/git/mirror.ts';
import { writePack } from '../src/git/pack.ts';
import { FLUSH_PKT, pktLine } from '../src/git/pkt-line.ts';
import type { Rendered } from '../src/intent/rendered.ts';
import { systemClock } from '../src/runtime/clock.ts';
import { fill, median, pick, renderedFor, slugOf, timed } from './cluster-repository.ts';
import { Secret } from '../src/runtime/secret.ts';

const { values: options } = parseArgs({
  options: {
    directories: { type: 'string', default: '1000,10000' },
    rounds: { type: 'string', default: '20' },
    json: { type: 'boolean', default: false },
  },
});
const rounds = Number(options.rounds);
const logger = pino({ level: 'silent' });
const IDENTITY = { name: 'Bench', email: 'bench@example.test' };
const PERSON = {
  GIT_AUTHOR_NAME: IDENTITY.name,
  GIT_AUTHOR_EMAIL: IDENTITY.email,
  GIT_COMMITTER_NAME: IDENTITY.name,
  GIT_COMMITTER_EMAIL: IDENTITY.email,
};

async function receivePack(repository: string, body: Buffer): Promise<void> {
  const output = await runGit(['receive-pack', '--stateless-rpc', repository], {
    input: body,
    env: { GIT_CONFIG_COUNT: '1', GIT_CONFIG_KEY_0: 'receive.autogc', GIT_CONFIG_VALUE_0: 'false' },
  });
  if (!output.includes('ok refs/heads/main')) throw new Error(`receive-pack: ${output.toString('utf8')}`);
}

interface Figures {
  readonly directories: number;
  readonly layout: RepositoryLayout;
  readonly oursMs: number;
  readonly receivePackMs: number;
  readonly nativeMs: number;
  /** 200 intents for 200 clusters handed over at once, until the last receipt. */
  readonly burstMs: number;
  readonly burstPushes: number;
}

async function measure(count: number): Promise<Figures> {
  const layout: RepositoryLayout = count > 20_000 ? 'sharded' : 'flat';
  const folder = await mkdtemp(join(tmpdir(), 'git-write-'));
  const tokens = new Map<string, GitAccess>();
  const host = new EmbeddedHost({
    root: join(folder, 'repositories'),
    authorize: async ({ token }) => tokens.get(token),
    logger,
    clock: systemClock,
    maxProcesses: 8,
    timeoutMs: 600_000,
  });
  let pushes = 0;
  const server = createServer((request, response) => {
    if (request.method === 'POST' && request.url?.endsWith('/git-receive-pack') === true) pushes += 1;
    void host.handle(request, response);
  });
  const listening = Promise.withResolvers<undefined>();
  server.listen(0, '127.0.0.1', () => listening.resolve(undefined));
  await listening.promise;
  const { port } = server.address() as AddressInfo;
  try {
    await host.ensureRepository('acme', { branch: 'main' });
    const repository = host.repositoryPath('acme');
    await fill(repository, count, layout);
    const bare = join(folder, 'bare.git');
    await cp(repository, bare, { recursive: true });
    const nativeRepository = host.repositoryPath('native');
    await cp(repository, nativeRepository, { recursive: true });

    let minted = 0;
    const mint = (scope: Extract<GitAccess, { access: 'write' }>['scope']): string => {
      minted += 1;
      tokens.set(`token-${minted}`, { access: 'write', scope });
      return `token-${minted}`;
    };
    await using ours = new GitopsDelivery({
      repository: {
        name: 'acme',
        url: `http://127.0.0.1:${port}/git/acme.git`,
        branch: 'main',
        layout,
        localPath: host.repositoryPath('acme'),
      },
      mirrorPath: join(folder, 'mirror.git'),
      mintCredential: async (scope) => ({ username: 'service', password: new Secret(mint(scope)) }),
      committer: IDENTITY,
      clock: systemClock,
      random: Math.random,
      logger,
    });
    const deliver = async (rendered: Rendered): Promise<void> => {
      const [receipt] = await Array.fromAsync(ours.deliver([rendered], AbortSignal.timeout(60_000)));
      if (receipt?.state !== 'delivered') throw new Error(JSON.stringify(receipt));
    };

    // The bare server gets packs made by the same code, from a mirror that is its own objects.
    await using mirror = new Mirror({ path: bare, url: 'http://127.0.0.1:1/', branch: 'main', logger });
    const planned = async (rendered: Rendered): Promise<Buffer> => {
      const commit = (await mirror.tip()) ?? '';
      const tip = { commit, root: await mirror.readTreeOfCommit(commit) };
      const deps = {
        reader: mirror,
        layout,
        committer: IDENTITY,
        tombstones: new ExpiredTombstones(),
        now: new Date(),
      };
      const plan = await planChain(deps, tip, [rendered]);
      const pack = await writePack(
        plan.commits.flatMap((planned) => planned.objects),
        { thin: true },
      );
      const command = `${commit} ${plan.tip.commit ?? ''} refs/heads/main\0 report-status`;
      return Buffer.concat([pktLine(command), FLUSH_PKT, pack]);
    };

    // Native git: a whole checkout, kept.
    const checkout = join(folder, 'checkout');
    const everything = Array.from({ length: rounds + 1 }, (_, round) => pick(round, count));
    const nativeToken = mint(
      everything.map((slug) => ({ clusterId: `c-${slug}`, directory: clusterDirectory(layout, slug) })),
    );
    const nativeUrl = `http://any:${nativeToken}@127.0.0.1:${port}/git/native.git`;
    await runGit(['clone', '--quiet', nativeUrl, checkout], { timeoutMs: 600_000 });
    const native = async (slug: string, rendered: Rendered): Promise<void> => {
      const path = `${clusterDirectory(layout, slug)}/apps/shop/podinfo.yaml`;
      await mkdir(dirname(join(checkout, path)), { recursive: true });
      await writeFile(join(checkout, path), rendered.text);
      const run = { cwd: checkout, env: PERSON };
      await runGit(['add', path], run);
      await runGit(['commit', '--quiet', '-m', `${slug}: update shop/podinfo`, '-m', `Cluster-Id: c-${slug}`], run);
      await runGit(['push', '--quiet', 'origin', 'main'], run);
    };

    const times = { ours: [] as number[], bare: [] as number[], native: [] as number[] };
    for (let round = 0; round <= rounds; round += 1) {
      const slug = pick(round, count);
      const rendered = renderedFor(slug, round + 2);
      const into = round === 0 ? { ours: [], bare: [], native: [] } : times;
      await timed(into.ours, async () => deliver(rendered));
      const body = await planned(rendered);
      await timed(into.bare, async () => receivePack(bare, body));
      await timed(into.native, async () => native(slug, rendered));
    }
    const burst: number[] = [];
    const pushesBefore = pushes;
    const batch = Array.from({ length: 200 }, (_, index) => renderedFor(slugOf(index), 1000));
    const receipts = await timed(burst, async () => Array.fromAsync(ours.deliver(batch, AbortSignal.timeout(60_000))));
    if (receipts.some(({ state }) => state !== 'delivered')) throw new Error('the burst was not delivered');
    const burstPushes = pushes - pushesBefore;
    await runGit(['fsck', '--strict'], { cwd: repository, timeoutMs: 600_000 });
    return {
      burstMs: median(burst),
      burstPushes,
      directories: count,
      layout,
      oursMs: median(times.ours),
      receivePackMs: median(times.bare),
      nativeMs: median(times.native),
    };
  } finally {
    await host[Symbol.asyncDispose]();
    server.closeAllConnections();
    server.close();
    await rm(folder, { recursive: true, force: true });
  }
}

const all: Figures[] = [];
for (const count of options.directories.split(',').map(Number)) {
  const figures = await measure(count);
  all.push(figures);
  if (options.json) continue;
  const { directories, layout, oursMs, receivePackMs, nativeMs, burstMs, burstPushes } = figures;
  process.stdout.write(
    `${directories} directories (${layout}): intent to remote commit ${oursMs.toFixed(1)} ms; ` +
      `bare receive-pack ${receivePackMs.toFixed(1)} ms (ratio ${(oursMs / receivePackMs).toFixed(2)}); ` +
      `native add, commit, push ${nativeMs.toFixed(1)} ms (${(nativeMs / oursMs).toFixed(1)} times ours); ` +
      `burst of 200 intents ${burstMs.toFixed(0)} ms in ${burstPushes} push${burstPushes === 1 ? '' : 'es'}\n`,
  );
}
if (options.json) process.stdout.write(`${JSON.stringify({ rounds, figures: all })}\n`);
