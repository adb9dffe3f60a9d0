import { join } from 'node:path';
import { pino } from 'pino';
import { GitopsDelivery, type GitopsDeliveryDeps } from '../../../../src/delivery/gitops/write/gitops-delivery.ts';
import type { Receipt } from '../../../../src/delivery/delivery.ts';
import type { Rendered } from '../../../../src/intent/rendered.ts';
import { Secret } from '../../../../src/runtime/secret.ts';
import type { Clock } from '../../../../src/runtime/clock.ts';
import { git, startGitServer, type GitServer } from '../../../git/git-server.ts';

let writers = 0;

/** Wall-clock time, and no wait at all: how long a writer would have waited is in `waits`. */
export function instantClock(): Clock & { readonly waits: number[]; at: Date | undefined } {
  const waits: number[] = [];
  return {
    waits,
    at: undefined,
    now() {
      return this.at ?? new Date();
    },
    sleep: async (ms, signal) => {
      signal?.throwIfAborted();
      waits.push(ms);
    },
  };
}

/** A server with the repository `acme` on it. */
export async function startAcme(): Promise<GitServer> {
  const server = await startGitServer();
  await server.host.ensureRepository('acme', { branch: 'main' });
  return server;
}

/** A writer of its own mirror, whose credentials the server knows. */
export function writerOn(server: GitServer, overrides: Partial<GitopsDeliveryDeps> = {}): GitopsDelivery {
  writers += 1;
  const id = writers;
  let minted = 0;
  return new GitopsDelivery({
    repository: { name: 'acme', url: server.remote('acme'), branch: 'main', layout: 'flat' },
    mirrorPath: join(server.folder, `mirror-${id}.git`),
    mintCredential: async (scope) => {
      minted += 1;
      const token = `svcgit_${id}_${minted}`;
      server.tokens.set(token, { repository: 'acme', access: { access: 'write', scope } });
      return { username: 'service', password: new Secret(token) };
    },
    committer: { name: 'Control plane', email: 'control-plane@example.test' },
    clock: instantClock(),
    random: Math.random,
    logger: pino({ level: 'silent' }),
    ...overrides,
  });
}

export async function deliver(delivery: GitopsDelivery, batch: readonly Rendered[]): Promise<Receipt[]> {
  return Array.fromAsync(delivery.deliver(batch, AbortSignal.timeout(60_000)));
}

/** Delivers and expects every intent to be delivered; gives the commits in the batch's order. */
export async function delivered(delivery: GitopsDelivery, batch: readonly Rendered[]): Promise<readonly string[]> {
  const receipts = await deliver(delivery, batch);
  return batch.map(({ intent }) => {
    const receipt = receipts.find(({ intentId }) => intentId === intent.id);
    if (receipt?.state !== 'delivered' || receipt.commit === undefined) {
      throw new Error(`not delivered: ${JSON.stringify(receipt)}`);
    }
    return receipt.commit;
  });
}

/** Plain git on the server's bare repository. */
export async function onServer(server: GitServer, ...args: readonly string[]): Promise<string> {
  return git(server.path('acme'), args);
}

/** Subjects on the branch, oldest first, without the root commit's. */
export async function subjects(server: GitServer): Promise<readonly string[]> {
  const log = await onServer(server, 'log', '--reverse', '--format=%s', 'main');
  return log.split('\n').slice(1);
}

/** Commits a file at the tip as a person would who has the repository on disk; `undefined` removes it. */
export async function commitByHand(
  server: GitServer,
  path: string,
  content: string | undefined,
  mode = '100644',
): Promise<string> {
  const index = { GIT_INDEX_FILE: join(server.folder, `index-${Math.random()}`) };
  const at = server.path('acme');
  await git(at, ['read-tree', 'main'], { env: index });
  if (content === undefined) {
    await git(at, ['update-index', '--index-info'], { env: index, input: `0 ${'0'.repeat(40)}\t${path}\n` });
  } else {
    const blob = mode === '160000' ? content : await git(at, ['hash-object', '-w', '--stdin'], { input: content });
    await git(at, ['update-index', '--add', '--cacheinfo', `${mode},${blob},${path}`], { env: index });
  }
  const tree = await git(at, ['write-tree'], { env: index });
  const commit = await git(at, ['commit-tree', tree, '-p', 'main', '-m', `change ${path} by hand`]);
  await git(at, ['update-ref', 'refs/heads/main', commit]);
  return commit;
}
