import { startGitServer, type GitServer } from './git-server.ts';

/** A host with two repositories, and tokens to write to one directory, to read, and to read the cluster's own. */
export async function startAcmeHost(): Promise<GitServer> {
  const server = await startGitServer({ maxBodyBytes: 200_000 });
  await server.host.ensureRepository('acme', { branch: 'main' });
  await server.host.ensureRepository('clusters/prod-eu', { branch: 'main' });
  const scope = [{ clusterId: 'c-eu', directory: 'clusters/prod-eu' }];
  server.tokens.set('write', { repository: 'acme', access: { access: 'write', scope } });
  server.tokens.set('read', { repository: 'acme', access: { access: 'read' } });
  server.tokens.set('own', { repository: 'clusters/prod-eu', access: { access: 'read' } });
  return server;
}

/** One request below `/git/`, with a token in Basic authentication. */
export async function fetchGit(
  server: GitServer,
  path: string,
  token?: string,
  init: RequestInit = {},
): Promise<Response> {
  const headers = token === undefined ? {} : { authorization: `Basic ${btoa(`any:${token}`)}` };
  return fetch(`${server.url}/git/${path}`, {
    ...init,
    headers: { ...(init.headers as Record<string, string> | undefined), ...headers },
  });
}
