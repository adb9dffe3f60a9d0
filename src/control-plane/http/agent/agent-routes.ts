import type { FastifyReply } from 'fastify';
import { CONFIG_REVISION_HEADER, SERVICE_VERSION_HEADER } from '../../../protocol/agent-config.ts';
import { operatorVersionIn } from '../../../protocol/version-skew.ts';
import type { Logger } from '../../../runtime/logger.ts';
import { PROJECT_VERSION } from '../../../runtime/project-version.ts';
import { AGENT_PREFIX, answerError } from '../answer-error.ts';
import { nameBodyLimit } from '../name-body-limit.ts';
import { auditRefusals } from '../audit-refusals.ts';
import type { HttpServer } from '../server.ts';
import { OperatorVersions } from '../../operator-versions.ts';
import { RefusalAudit } from '../../refusal-audit.ts';
import { authenticate, ClusterDisabled } from './authenticate.ts';
import { ClientCertificates, type ClientCertificatesDeps } from './client-certificates.ts';
import { configRoute, type ConfigRouteDeps } from './config.ts';
import { recoverRoute, rotateRoute } from './credentials.ts';
import { eventsRoute } from './events.ts';
import { jobWriteRoutes } from './job-writes.ts';
import { jobsRoute, type JobsRouteDeps } from './jobs.ts';
import { requireServedMediaType } from './media-type.ts';
import { countRequests, type RateLimits } from './rate-limits.ts';
import { registerRoute } from './register.ts';
import type { RegisterClusterDeps } from '../../register-cluster.ts';

export type AgentRoutesDeps = Omit<RegisterClusterDeps & ClientCertificatesDeps, 'refusals'> &
  ConfigRouteDeps &
  Omit<JobsRouteDeps, 'refusals'> & {
    readonly rateLimits: RateLimits;
    readonly logger: Logger;
    /** Of this control plane; default: the package's. */
    readonly version?: string;
  };

/** The agent API (specification, "Endpoints"): what operators call. Whatever else is under `/api/agent` is 404. */
export function agentRoutes(app: HttpServer, deps: AgentRoutesDeps): void {
  const refusals = new RefusalAudit(deps);
  const { version = PROJECT_VERSION } = deps;
  const versions = new OperatorVersions({ ...deps, version });
  const certificates = new ClientCertificates({ ...deps, refusals });
  app.decorateRequest('agent', null);
  app.decorateRequest('isCertified', false);
  countRequests(app);
  app.register(async (scope: HttpServer) => {
    scope.addHook('onRequest', async (request) => {
      requireServedMediaType(request);
    });
    tellVersion(scope, version);
    registerRoute(scope, { ...deps, refusals });
    recoverRoute(scope, { ...deps, refusals });
  });
  app.register(async (scope: HttpServer) => {
    scope.setErrorHandler((error, request, reply) => {
      answerError(nameBodyLimit(error, request), request, reply);
    });
    scope.addHook('onRequest', async (request, reply) => {
      // Before the body is read: who may not write makes the server read nothing.
      request.agent = await authenticate(deps, request.headers.authorization).catch((error: unknown) => {
        tellRevisionOfDisabled(reply, error);
        throw error;
      });
      requireServedMediaType(request);
      // Here and not where a held request looks again: that would tell of a version that has been replaced meanwhile.
      await versions.note(request.agent.cluster, operatorVersionIn(request.headers['user-agent']));
      await certificates.check(request);
    });
    auditRefusals(scope, { ...deps, refusals });
    tellVersion(scope, version);
    tellConfigRevision(scope);
    configRoute(scope, deps);
    eventsRoute(scope, { ...deps, refusals });
    rotateRoute(scope, { ...deps, refusals });
    jobsRoute(scope, { ...deps, refusals });
    jobWriteRoutes(scope, { ...deps, refusals });
  });
  app.register(
    async (scope: HttpServer) => {
      scope.addHook('onRequest', async (request, reply) => {
        // Only so that the answer carries the revision: what is nowhere is 404 to everybody.
        request.agent = await authenticate(deps, request.headers.authorization).catch((error: unknown) => {
          tellRevisionOfDisabled(reply, error);
          return null;
        });
      });
      tellVersion(scope, version);
      tellConfigRevision(scope);
      scope.setNotFoundHandler(app.answerNotFound);
    },
    { prefix: AGENT_PREFIX },
  );
}

/** So that an operator that is newer than its control plane can say so. */
function tellVersion(scope: HttpServer, version: string): void {
  scope.addHook('onSend', async (_request, reply, payload) => {
    reply.header(SERVICE_VERSION_HEADER, version);
    return payload;
  });
}

function tellRevisionOfDisabled(reply: FastifyReply, error: unknown): void {
  if (error instanceof ClusterDisabled) reply.header(CONFIG_REVISION_HEADER, String(error.configRevision));
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
