import { randomBytes } from 'node:crypto';
import { systemClock } from '../../../runtime/clock.ts';
import { createLogger } from '../../../runtime/logger.ts';
import { adminApi } from '../admin/admin-api.ts';
import { agentRoutes, type AgentRoutesDeps } from '../agent/agent-routes.ts';
import { NO_CLIENT_CERTIFICATE_SETTINGS } from '../agent/client-certificates.ts';
import { DEFAULT_RATE_LIMITS } from '../agent/rate-limits.ts';
import { gitHostWebhookRoutes } from '../git-host-webhooks.ts';
import { installRoutes } from '../install.ts';
import { createHttpServer } from '../server.ts';
import type { OpenApiDocument } from './openapi.ts';

/** The document as a running control plane serves it, without one: for the reference and for clients that are generated. */
export async function apiDocument(): Promise<OpenApiDocument> {
  const logger = createLogger('openapi', 'silent');
  const app = createHttpServer({ clock: systemClock, logger, randomBytes, ready: async () => undefined });
  const deps = nothing as never;
  adminApi(app, deps);
  installRoutes(app, deps);
  agentRoutes(app, {
    clientCertificates: NO_CLIENT_CERTIFICATE_SETTINGS,
    rateLimits: DEFAULT_RATE_LIMITS,
  } as AgentRoutesDeps);
  gitHostWebhookRoutes(app, deps);
  await app.ready();
  try {
    return app.openApiDocument();
  } finally {
    await app.close();
  }
}

/** Nothing is called: a route only keeps what it is given. */
const nothing: object = new Proxy(() => nothing, {
  get: (_target, name) => (name === 'then' ? undefined : name === Symbol.toPrimitive ? () => 0 : nothing),
});
