import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { EmbeddedHost, type EmbeddedHostDeps } from '../../src/git/embedded-host/embedded-host.ts';
import type { GitAuthorization } from '../../src/git/embedded-host/git-access.ts';
import { gitEnvironment, runGit, type RunGitOptions } from '../../src/git/git-process.ts';
import { systemClock } from '../../src/runtime/clock.ts';

/** An embedded host on a real HTTP server, with its tokens in a map, and a folder for what a test needs. */
export interface GitServer extends AsyncDisposable {
  readonly host: EmbeddedHost;
  readonly url: string;
  /** `http://…/git/<name>.git` with the token in it, for plain git. */
  remote(name: string, token?: string): string;
  readonly tokens: Map<string, { repository: string; access: GitAuthorization }>;
  /** `POST git-receive-pack` requests so far. */
  pushes(): number;
  readonly requests: { method: string; url: string }[];
  /** Bare repository on disk. */
  path(name: string): string;
  readonly folder: string;
  /** Answers before the host does, when it gives a status. */
  intercept: ((request: IncomingMessage) => number | undefined) | undefined;
}

export async function startGitServer(overrides: Partial<EmbeddedHostDeps> = {}): Promise<GitServer> {
  const folder = await mkdtemp(join(tmpdir(), 'git-server-'));
  const tokens = new Map<string, { repository: string; access: GitAuthorization }>();
  const host = new EmbeddedHost({
    root: join(folder, 'repositories'),
    authorize: async ({ repository, token }) => {
      const known = tokens.get(token);
      if (known === undefined) return undefined;
      return known.repository === repository ? known.access : { access: 'none' };
    },
    logger: pino({ level: 'silent' }),
    clock: systemClock,
    maxProcesses: 4,
    timeoutMs: 60_000,
    ...overrides,
  });
  const requests: { method: string; url: string }[] = [];
  const state: { intercept: GitServer['intercept'] } = { intercept: undefined };
  const server = createServer((request, response) => {
    requests.push({ method: request.method ?? '', url: request.url ?? '' });
    const status = state.intercept?.(request);
    if (status === undefined) {
      void host.handle(request, response);
    } else {
      request.resume();
      response.writeHead(status, { 'content-type': 'text/plain' }).end('intercepted\n');
    }
  });
  const listening = Promise.withResolvers<undefined>();
  server.listen(0, '127.0.0.1', () => listening.resolve(undefined));
  await listening.promise;
  const { port } = server.address() as AddressInfo;
  const url = `http://127.0.0.1:${port}`;
  return {
    host,
    url,
    remote: (name, token) => `http://${token === undefined ? '' : `any:${token}@`}127.0.0.1:${port}/git/${name}.git`,
    tokens,
    pushes: () => requests.filter((r) => r.method === 'POST' && r.url.endsWith('/git-receive-pack')).length,
    requests,
    path: (name) => host.repositoryPath(name),
    folder,
    get intercept() {
      return state.intercept;
    },
    set intercept(value) {
      state.intercept = value;
    },
    [Symbol.asyncDispose]: async () => {
      await host[Symbol.asyncDispose]();
      server.closeAllConnections();
      const closed = Promise.withResolvers<undefined>();
      server.close(() => closed.resolve(undefined));
      await closed.promise;
      await rm(folder, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

const IDENTITY = {
  GIT_AUTHOR_NAME: 'A Person',
  GIT_AUTHOR_EMAIL: 'person@example.test',
  GIT_COMMITTER_NAME: 'A Person',
  GIT_COMMITTER_EMAIL: 'person@example.test',
};

/** Plain git as an independent client. Gives standard output without the last line break. */
export async function git(cwd: string, args: readonly string[], options: RunGitOptions = {}): Promise<string> {
  const output = await runGit(args, { ...options, cwd, env: { ...IDENTITY, ...options.env } });
  return output.toString('utf8').replace(/\n$/, '');
}

/** What git says when it fails; throws when it does not fail. */
export async function gitFailure(cwd: string, args: readonly string[], options: RunGitOptions = {}): Promise<string> {
  try {
    await git(cwd, args, options);
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
  throw new Error(`git ${args.join(' ')} succeeded`);
}

export { gitEnvironment };
