import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { pino } from 'pino';
import { EmbeddedHost } from '../../src/git/embedded-host/embedded-host.ts';
import type { GitAccess, ScopeEntry } from '../../src/git/embedded-host/git-access.ts';
import { systemClock } from '../../src/runtime/clock.ts';

/** The embedded host on a port of its own, which everybody who is compared pushes through. */
export interface BenchHost extends AsyncDisposable {
  readonly host: EmbeddedHost;
  readonly url: string;
  /** Mints a token that may write below these directories. */
  readonly mint: (scope: readonly ScopeEntry[]) => string;
  /** Pushes, and requests of any kind, since the start. */
  readonly counts: () => { readonly pushes: number; readonly requests: number };
}

export async function serveHost(root: string): Promise<BenchHost> {
  const tokens = new Map<string, GitAccess>();
  const host = new EmbeddedHost({
    root,
    authorize: async ({ token }) => tokens.get(token),
    logger: pino({ level: 'silent' }),
    clock: systemClock,
    maxProcesses: 8,
    timeoutMs: 600_000,
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
  return {
    host,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/git`,
    mint: (scope) => {
      const token = `token-${tokens.size + 1}`;
      tokens.set(token, { access: 'write', scope });
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
