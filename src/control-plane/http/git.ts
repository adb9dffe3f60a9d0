import type { EmbeddedHost } from '../../git/embedded-host/embedded-host.ts';
import type { GitAuthorization } from '../../git/embedded-host/git-access.ts';
import { REQUEST_ID_HEADER } from '../../protocol/agent-config.ts';
import { isWellFormedToken } from '../../protocol/token.ts';
import type { Clock } from '../../runtime/clock.ts';
import { findGitCredential, type StoredScope } from '../store/git-credentials.ts';
import type { Store } from '../store/open-store.ts';
import type { HttpServer } from './server.ts';

/** Hands every request under `/git/` to the embedded host, raw: bodies are packs, and the answers are Git's own. */
export function gitRoutes(app: HttpServer, deps: { readonly host: EmbeddedHost }): void {
  app.register(async (git) => {
    git.addHook('onRequest', async (request, reply) => {
      reply.hijack();
      reply.raw.setHeader(REQUEST_ID_HEADER, request.id);
      await deps.host.handle(request.raw, reply.raw);
    });
    // Answered above; the route is there so that the hook runs.
    git.all('/git/*', async () => undefined);
  });
}

/** What a token may do in a repository, by the stored Git credentials. */
export function authorizeGit(deps: {
  readonly store: Pick<Store, 'db'>;
  readonly clock: Clock;
}): (request: { readonly repository: string; readonly token: string }) => Promise<GitAuthorization | undefined> {
  return async ({ repository, token }) => {
    if (!isWellFormedToken('svcgit', token)) return undefined;
    const row = await findGitCredential(deps.store.db, token);
    if (row === undefined || row.revoked_at !== null || row.expires_at <= deps.clock.now().toISOString()) {
      return undefined;
    }
    if (row.repository_name !== repository) return { access: 'none' };
    if (row.access === 'read') return { access: 'read' };
    const scope = JSON.parse(row.scope ?? '[]') as StoredScope;
    return 'moves' in scope ? { access: 'write', scope: [], moves: scope.moves } : { access: 'write', scope };
  };
}
