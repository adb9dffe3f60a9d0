import type { FastifyReply, FastifyRequest } from 'fastify';
import { AppError } from '../../protocol/app-error.ts';
import type { ControlPlaneMetrics } from '../metrics/control-plane-metrics.ts';
import type { RefusalAudit } from '../refusal-audit.ts';
import { DEFAULT_ORGANIZATION } from '../store/organizations.ts';
import { AGENT_PREFIX } from './answer-error.ts';
import { authenticateAdmin, type AuthenticateAdminDeps } from './admin/authenticate.ts';
import { auditAccessRefusal } from './admin/require-scope.ts';
import type { HttpServer } from './server.ts';

const ADMIN_PREFIX = '/api/v1';

export interface MetricsRouteDeps extends AuthenticateAdminDeps {
  readonly metrics: ControlPlaneMetrics;
  readonly refusals: Pick<RefusalAudit, 'record'>;
  /** `SERVICE_METRICS_PUBLIC`: whoever reaches the server may read them. */
  readonly isPublic: boolean;
}

/**
 * `GET /metrics`, for Prometheus: with a token of the organization `default` that may read, since they count what every
 * organization has; without one where that was set. Add it before the APIs, whose requests it counts.
 */
export function metricsRoute(app: HttpServer, deps: MetricsRouteDeps): void {
  const { metrics } = deps;
  app.addHook('onResponse', async (request: FastifyRequest, reply: FastifyReply) => {
    const { url } = request.routeOptions;
    if (url === undefined) return;
    const labels = { method: request.method, route: url, status: `${Math.floor(reply.statusCode / 100)}xx` };
    if (url.startsWith(`${AGENT_PREFIX}/`)) metrics.count('service_agent_requests_total', labels);
    else if (url.startsWith(`${ADMIN_PREFIX}/`)) metrics.count('service_admin_requests_total', labels);
  });
  app.get('/metrics', { schema: { hide: true } }, async (request, reply) => {
    if (!deps.isPublic) await requireReader(deps, request);
    return await reply
      .header('content-type', metrics.contentType)
      .header('cache-control', 'no-store')
      .send(await metrics.text());
  });
}

async function requireReader(deps: MetricsRouteDeps, request: FastifyRequest): Promise<void> {
  const admin = await authenticateAdmin(deps, request.headers);
  const { organization, scopes, name } = admin;
  if (organization.name === DEFAULT_ORGANIZATION && scopes.has('read')) return;
  await auditAccessRefusal(deps.refusals, request, admin, 'and may not read it');
  throw new AppError(
    'forbidden',
    `${name} of the organization ${organization.name} may not read metrics, which count what every organization has; use a token with the scope read of the organization ${DEFAULT_ORGANIZATION}`,
  );
}
