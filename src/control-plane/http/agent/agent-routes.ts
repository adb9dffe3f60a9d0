import { CONFIG_REVISION_HEADER } from '../../../protocol/agent-config.ts';
import type { HttpServer } from '../server.ts';
import { RefusalAudit } from '../../refusal-audit.ts';
import { authenticate } from './authenticate.ts';
import { configRoute, type ConfigRouteDeps } from './config.ts';
import { eventsRoute } from './events.ts';
import { requireServedMediaType } from './media-type.ts';
import { registerRoute } from './register.ts';
import type { RegisterClusterDeps } from '../../register-cluster.ts';

export type AgentRoutesDeps = Omit<RegisterClusterDeps, 'refusals'> & ConfigRouteDeps;

/** The agent API (specification, "Endpoints"): what operators call. Whatever else is under `/api/agent` is 404. */
export function agentRoutes(app: HttpServer, deps: AgentRoutesDeps): void {
  const refusals = new RefusalAudit(deps);
  app.decorateRequest('agent', null);
  app.register(async (scope: HttpServer) => {
    scope.addHook('onRequest', async (request) => {
      requireServedMediaType(request);
    });
    registerRoute(scope, { ...deps, refusals });
  });
  app.register(async (scope: HttpServer) => {
    scope.addHook('onRequest', async (request) => {
      requireServedMediaType(request);
      // Before the body is read: who may not write makes the server read nothing.
      request.agent = await authenticate(deps, request.headers.authorization);
    });
    scope.addHook('onSend', async (request, reply, payload) => {
      if (request.agent !== null) {
        reply.header(CONFIG_REVISION_HEADER, String(request.agent.cluster.config_revision));
      }
      return payload;
    });
    configRoute(scope, deps);
    eventsRoute(scope, { ...deps, refusals });
  });
}
