import { generateKeyPairSync } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { pino } from 'pino';
import { EmbeddedHost } from '../../src/git/embedded-host/embedded-host.ts';
import type { GitAccess, ScopeEntry } from '../../src/git/embedded-host/git-access.ts';
import { signForGit } from '../../src/git/signing/ssh-signature.ts';
import type { CommitSigner } from '../../src/git/commit-object.ts';
import type { ProjectionTarget } from '../../src/git/projection/projection-target.ts';
import { systemClock } from '../../src/runtime/clock.ts';

/** The embedded host on a port of its own, which everybody who is compared pushes through. */
export interface BenchHost extends AsyncDisposable {
  readonly host: EmbeddedHost;
  readonly url: string;
  /** Mints a token that may write below these directories; `projected`: of clusters that read a projection each. */
  readonly mint: (scope: readonly ScopeEntry[], projected?: 'projected') => string;
  /** Mints a token that reads one cluster's projection. */
  readonly mintReader: (entry: ScopeEntry) => { readonly token: string; readonly url: string };
  readonly sign: CommitSigner;
  /** Pushes, and requests of any kind, since the start. */
  readonly counts: () => { readonly pushes: number; readonly requests: number };
}

export async function serveHost(root: string): Promise<BenchHost> {
  const tokens = new Map<string, GitAccess>();
  const { privateKey } = generateKeyPairSync('ed25519');
  const sign: CommitSigner = async (payload) => signForGit(payload, privateKey);
  const host = new EmbeddedHost({
    root,
    authorize: async ({ token }) => tokens.get(token),
    logger: pino({ level: 'silent' }),
    clock: systemClock,
    maxProcesses: 8,
    timeoutMs: 600_000,
    signProjection: async () => ({
      keys: new Set(['bench']),
      signerOf: () => 'bench',
      sign: async (payload) => ({ signature: await sign(payload), key: 'bench' }),
    }),
  });
  let pushes = 0;
  let requests = 0;
  const server = createServer((request, response) => {
    requests += 1;
    if (request.method === 'POST' && request.url?.endsWith('/git-receive-pack') === true) pushes += 1;
    void host.handle(request, response);
  });
  const listening = Promise.withResolvers<undefined>();
  server.listen(0, '127.0.0.1', () => listening.resolve(undefined));
  await listening.promise;
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/git`;
  return {
    host,
    url,
    sign,
    mintReader: (entry) => {
      const token = `token-${tokens.size + 1}`;
      const projection = projectionOf(entry);
      tokens.set(token, { access: 'read', projection });
      return { token, url: `${url}/${projection.name}.git` };
    },
    mint: (scope, projected) => {
      const token = `token-${tokens.size + 1}`;
      const projections = new Map(scope.map((entry) => [entry.clusterId, projectionOf(entry)]));
      tokens.set(token, { access: 'write', scope, ...(projected === undefined ? {} : { projections }) });
      return token;
    },
    counts: () => ({ pushes, requests }),
    [Symbol.asyncDispose]: async () => {
      await host[Symbol.asyncDispose]();
      server.closeAllConnections();
      server.close();
    },
  };
}

function projectionOf({ clusterId, directory }: ScopeEntry): ProjectionTarget {
  const name = `clusters/${clusterId}`;
  return {
    name,
    organizationId: 'org-1',
    repository: 'acme',
    branch: 'main',
    directory,
    places: async () => ({ now: directory, moves: [] }),
  };
}
