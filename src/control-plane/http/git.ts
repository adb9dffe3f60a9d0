import type { EmbeddedHost } from '../../git/embedded-host/embedded-host.ts';
import type { GitAuthorization } from '../../git/embedded-host/git-access.ts';
import { REQUEST_ID_HEADER } from '../../protocol/agent-config.ts';
import { isWellFormedToken } from '../../protocol/token.ts';
import type { Clock } from '../../runtime/clock.ts';
import { projectionTargets } from '../git/projection-targets.ts';
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
    git.all('/git/*', { schema: { hide: true } }, async () => undefined);
  });
}

/**
 * What a token may do in a repository, by the stored Git credentials. A cluster's reads its projection and nothing else,
 * whichever repository its directory was in when it was minted.
 */
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
    if (row.access === 'read' && row.cluster_id !== null) {
      const projection = (await projectionTargets(deps.store.db, [row.cluster_id])).get(row.cluster_id);
      return projection?.name === repository ? { access: 'read', projection } : { access: 'none' };
    }
    if (row.repository_name !== repository) return { access: 'none' };
    if (row.access === 'read') return { access: 'read' };
    const scope = JSON.parse(row.scope ?? '[]') as StoredScope;
    const write = { access: 'write', pushesOnly: true } as const;
    if ('moves' in scope) return { ...write, scope: [], moves: scope.moves };
    const clusterIds = scope.map(({ clusterId }) => clusterId);
    const projections = await projectionTargets(deps.store.db, clusterIds);
    const followed = scope.flatMap(({ clusterId, directory }) => {
      const target = projections.get(clusterId);
      return target === undefined ? [] : [[clusterId, { ...target, directory }] as const];
    });
    return { ...write, scope, projections: new Map(followed) };
  };
}
