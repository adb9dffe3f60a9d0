import type { FastifyReply, FastifyRequest } from 'fastify';
import { AppError } from '../../../protocol/app-error.ts';
import { answerError } from '../answer-error.ts';
import { DEFAULT_BODY_LIMIT, type HttpServer } from '../server.ts';
import type { AdminDeps } from './admin-deps.ts';
import { auditRoutes } from './audit.ts';
import { authenticateAdmin } from './authenticate.ts';
import { catalogRoutes } from './catalog.ts';
import { clusterStateRoutes } from './cluster-state.ts';
import { clusterRoutes } from './clusters.ts';
import { installLinkRoutes } from './install-link.ts';
import { intentRoutes } from './intents.ts';
import { reportRoutes } from './reports.ts';
import { repositoryRoutes } from './repositories.ts';

/** The admin API (decisions, "Admin API"), below `/api/v1`. Every call is one organization's, by its token. */
export function adminApi(app: HttpServer, deps: AdminDeps): void {
  app.decorateRequest('admin', null);
  app.register(
    async (scope: HttpServer) => {
      scope.setErrorHandler((error, request, reply) => {
        answerError(withLimit(error, request), request, reply);
      });
      scope.addHook('onRequest', async (request: FastifyRequest, reply: FastifyReply) => {
        // Answers hold tokens that are shown once, and whatever else they hold is one organization's own.
        reply.header('cache-control', 'no-store');
        request.admin = await authenticateAdmin(deps, request.headers.authorization);
      });
      clusterRoutes(scope, deps);
      clusterStateRoutes(scope, deps);
      installLinkRoutes(scope, deps);
      catalogRoutes(scope, deps);
      intentRoutes(scope, deps);
      reportRoutes(scope, deps);
      auditRoutes(scope, deps);
      repositoryRoutes(scope, deps);
    },
    { prefix: '/api/v1' },
  );
}

/** The framework says that a body is too large, but not how large it may be. */
function withLimit(error: unknown, request: FastifyRequest): unknown {
  if (!(error instanceof Error && 'code' in error && error.code === 'FST_ERR_CTP_BODY_TOO_LARGE')) return error;
  const limit = request.routeOptions.bodyLimit ?? DEFAULT_BODY_LIMIT;
  const message = `the body is larger than ${limit} bytes`;
  return new AppError('payload_too_large', `${message}, the most that this endpoint takes`, {
    cause: error,
    faults: [{ path: '', message, allowed: { maxBytes: limit } }],
  });
}
