/**
 * What reading costs a cluster: the operator's first sync of its directory and its look at a remote that has nothing new,
 * beside native git that fetches as little as it can be told to, and beside a plain shallow clone. In one run and in turns,
 * all through the same host.
 *
 *   node bench/git/read.ts [--directories 1000,10000,100000] [--rounds 7] [--json]
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { pino } from 'pino';
import { DirectoryReader } from '../../src/delivery/gitops/read/directory-reader.ts';
import { GitCache } from '../../src/delivery/gitops/read/git-cache.ts';
import { gitEnvironment } from '../../src/delivery/gitops/read/git-environment.ts';
import { clusterDirectory, type RepositoryLayout } from '../../src/delivery/gitops/layout.ts';
import { runGit } from '../../src/git/git-process.ts';
import { MAX_MANIFEST_BYTES } from '../../src/intent/rendered.ts';
import { fill, median, pick, timed } from './repository.ts';
import { serveHost } from './serve.ts';

const { values: options } = parseArgs({
  options: {
    directories: { type: 'string', default: '1000,10000,100000' },
    rounds: { type: 'string', default: '7' },
    json: { type: 'boolean', default: false },
  },
});
const rounds = Number(options.rounds);
const LONG_MS = 900_000;

interface Times {
  readonly first: number[];
  readonly again: number[];
}

/** A way to have one directory of a repository, and to look whether there is anything new. */
interface Reader {
  readonly name: string;
  readonly first: () => Promise<void>;
  readonly again: () => Promise<void>;
}

async function measure(count: number): Promise<ReadonlyMap<string, Times>> {
  const layout: RepositoryLayout = count > 20_000 ? 'sharded' : 'flat';
  const folder = await mkdtemp(join(tmpdir(), 'git-read-'));
  await using served = await serveHost(join(folder, 'repositories'));
  try {
    await served.host.ensureRepository('acme', { branch: 'main' });
    await fill(served.host.repositoryPath('acme'), count, layout);
    const url = `${served.url}/acme.git`;
    const token = served.mint([]);
    const times = new Map<string, Times>();
    for (let round = 0; round <= rounds; round += 1) {
      const at = join(folder, `round-${round}`);
      const slug = pick(round, count);
      const directory = clusterDirectory(layout, slug);
      const projection = served.mintReader({ clusterId: `c-${slug}`, directory });
      // As after a push: it is there.
      await runGit(['ls-remote', withToken(projection.url, projection.token)], { timeoutMs: LONG_MS });
      for (const reader of [
        operator('the operator, of the repository that is its own', {
          at: join(at, 'own'),
          ...projection,
          directory: '',
        }),
        operator('the operator, of the shared repository', { at: join(at, 'shared'), url, token, directory }),
        sparse({ at: join(at, 'sparse'), url, token, directory }),
        shallow({ at: join(at, 'shallow'), url, token, directory }),
      ]) {
        const spent = times.get(reader.name) ?? { first: [], again: [] };
        times.set(reader.name, spent);
        await timed(round === 0 ? [] : spent.first, reader.first);
        await timed(round === 0 ? [] : spent.again, reader.again);
      }
      await rm(at, { recursive: true });
    }
    return times;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

interface Place {
  readonly at: string;
  readonly url: string;
  readonly token: string;
  readonly directory: string;
}

function operator(name: string, { at, url, token, directory }: Place): Reader {
  const cache = new GitCache({
    directory: at,
    url,
    branch: 'main',
    path: directory,
    environment: () => gitEnvironment({ url, home: at, credential: { username: 'any', password: token } }),
    logger: pino({ level: 'silent' }),
  });
  const reader = new DirectoryReader({ cache, path: directory, maxBytes: MAX_MANIFEST_BYTES });
  const read = async (): Promise<void> => {
    const signal = AbortSignal.timeout(LONG_MS);
    const { commit } = await cache.fetch(signal);
    const { paths } = await reader.read(commit, signal);
    if (paths.length !== 2) throw new Error(`${directory} was read as ${paths.join(', ')}`);
  };
  return { name, first: read, again: read };
}

function sparse({ at, url, token, directory }: Place): Reader {
  const flags = ['--quiet', '--depth', '1', '--filter=blob:none', '--sparse', '--no-checkout'];
  return {
    name: 'native git, shallow, partial and sparse',
    first: async () => {
      await runGit(['clone', ...flags, withToken(url, token), at], { timeoutMs: LONG_MS });
      await runGit(['sparse-checkout', 'set', directory], { cwd: at, timeoutMs: LONG_MS });
      await runGit(['checkout', '--quiet'], { cwd: at, timeoutMs: LONG_MS });
    },
    again: async () => await fetchAgain(at),
  };
}

function shallow({ at, url, token }: Place): Reader {
  return {
    name: 'native git, shallow',
    first: async () => {
      await runGit(['clone', '--quiet', '--depth', '1', withToken(url, token), at], { timeoutMs: LONG_MS });
    },
    again: async () => await fetchAgain(at),
  };
}

async function fetchAgain(at: string): Promise<void> {
  await runGit(['fetch', '--quiet', '--depth', '1', 'origin', 'main'], { cwd: at, timeoutMs: LONG_MS });
}

function withToken(url: string, token: string): string {
  return url.replace('://', `://any:${token}@`);
}

const all: unknown[] = [];
for (const count of options.directories.split(',').map(Number)) {
  const times = await measure(count);
  const figures = [...times].map(([name, { first, again }]) => ({
    name,
    firstMs: median(first),
    noChangeMs: median(again),
  }));
  all.push({ directories: count, figures });
  if (options.json) continue;
  process.stdout.write(`${count} directories, one of them read, medians of ${rounds} rounds in turns:\n`);
  for (const { name, firstMs, noChangeMs } of figures) {
    process.stdout.write(`  ${name}: first sync ${firstMs.toFixed(0)} ms, nothing new ${noChangeMs.toFixed(0)} ms\n`);
  }
}
if (options.json) process.stdout.write(`${JSON.stringify({ rounds, figures: all })}\n`);
