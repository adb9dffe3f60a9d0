import { CONFIG_REVISION_HEADER } from '../../../protocol/agent-config.ts';
import { AGENT_PREFIX } from '../answer-error.ts';
import type { HttpServer } from '../server.ts';
import { RefusalAudit } from '../../refusal-audit.ts';
import { authenticate } from './authenticate.ts';
import { configRoute, type ConfigRouteDeps } from './config.ts';
import { eventsRoute } from './events.ts';
import { requireServedMediaType } from './media-type.ts';
import { countRequests, type RateLimits } from './rate-limits.ts';
import { registerRoute } from './register.ts';
import type { RegisterClusterDeps } from '../../register-cluster.ts';

export type AgentRoutesDeps = Omit<RegisterClusterDeps, 'refusals'> &
  ConfigRouteDeps & { readonly rateLimits: RateLimits };

/** The agent API (specification, "Endpoints"): what operators call. Whatever else is under `/api/agent` is 404. */
export function agentRoutes(app: HttpServer, deps: AgentRoutesDeps): void {
  const refusals = new RefusalAudit(deps);
  app.decorateRequest('agent', null);
  countRequests(app);
  app.register(async (scope: HttpServer) => {
    scope.addHook('onRequest', async (request) => {
      requireServedMediaType(request);
    });
    registerRoute(scope, { ...deps, refusals });
  });
  app.register(async (scope: HttpServer) => {
    scope.addHook('onRequest', async (request) => {
      // Before the body is read: who may not write makes the server read nothing.
      request.agent = await authenticate(deps, request.headers.authorization);
      requireServedMediaType(request);
    });
    tellConfigRevision(scope);
    configRoute(scope, deps);
    eventsRoute(scope, { ...deps, refusals });
  });
  app.register(
    async (scope: HttpServer) => {
      scope.addHook('onRequest', async (request) => {
        // Only so that the answer carries the revision: what is nowhere is 404 to everybody.
        request.agent = await authenticate(deps, request.headers.authorization).catch(() => null);
      });
      tellConfigRevision(scope);
      scope.setNotFoundHandler(app.answerNotFound);
    },
    { prefix: AGENT_PREFIX },
  );
}

/** On every answer to a known agent, errors and 204 included (decisions, "Register, rotate, config"). */
function tellConfigRevision(scope: HttpServer): void {
  scope.addHook('onSend', async (request, reply, payload) => {
    if (request.agent !== null) {
      reply.header(CONFIG_REVISION_HEADER, String(request.agent.cluster.config_revision));
    }
    return payload;
  });
}
