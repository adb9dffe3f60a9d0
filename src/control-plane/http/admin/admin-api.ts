import type { FastifyReply, FastifyRequest } from 'fastify';
import { AccessRefusedError } from '../../access-refused.ts';
import { ChooseOrganizationError } from '../../oidc/choose-organization.ts';
import { LastUse } from '../../store/last-use.ts';
import { answerError } from '../answer-error.ts';
import { nameBodyLimit } from '../name-body-limit.ts';
import { auditRefusals } from '../audit-refusals.ts';
import { RefusalAudit } from '../../refusal-audit.ts';
import type { HttpServer } from '../server.ts';
import type { AdminDeps } from './admin-deps.ts';
import { acceptRemovalsRoute } from './accept-removals.ts';
import { adminTokenRoutes } from './admin-tokens.ts';
import { applicationRoutes } from './applications.ts';
import { approvalRoutes } from './approvals.ts';
import { auditRoutes } from './audit.ts';
import { adminOf, authenticateAdmin } from './authenticate.ts';
import { catalogCredentialRoutes } from './catalog-credentials.ts';
import { catalogVersionRoutes } from './catalog-versions.ts';
import { catalogRoutes } from './catalog.ts';
import { changeRoutes } from './changes.ts';
import { channelRoutes } from './channel.ts';
import { channelWebhookRoutes } from './channel-webhooks.ts';
import { clientAuthorityRoute } from './client-authority.ts';
import { clusterStateRoutes } from './cluster-state.ts';
import { clusterRoutes } from './clusters.ts';
import { commitSigningKeyRoutes } from './commit-signing-keys.ts';
import { deleteClusterRoute } from './delete-cluster.ts';
import { fleetRoute } from './fleet.ts';
import { historyRoutes } from './history.ts';
import { idempotentPosts } from './idempotent-posts.ts';
import { installLinkRoutes } from './install-link.ts';
import { hostRepositoryRoutes } from './host-repositories.ts';
import { intentRoutes } from './intents.ts';
import { jobRoutes } from './jobs.ts';
import { listClustersRoute } from './list-clusters.ts';
import { loginRoute } from './login.ts';
import { meRoute, meToChoose } from './me.ts';
import { memberRoutes } from './members.ts';
import { modeRoutes } from './mode.ts';
import { recoveryKeyRoutes } from './recovery-key.ts';
import { proposalRoutes } from './proposals.ts';
import { pushCredentialRoutes } from './push-credential.ts';
import { refuseUnread } from './refuse-unread.ts';
import { operationRoutes } from './operations.ts';
import { operationTemplateRoutes } from './operation-templates.ts';
import { organizationRoutes } from './organization.ts';
import { organizationsRoutes } from './organizations.ts';
import { rebindRoute } from './rebind.ts';
import { reportRoutes } from './reports.ts';
import { auditAccessRefusal, requireScope } from './require-scope.ts';
import { repositoryLayoutRoute } from './repository-layout.ts';
import { repositoryRoutes } from './repositories.ts';
import { savedFilterRoutes } from './saved-filters.ts';
import { searchRoute } from './search.ts';
import { signingKeyRoutes } from './signing-keys.ts';
import { timelineRoute } from './timeline.ts';
import { trustRevisionRoute } from './trust-revision.ts';
import { workListRoutes } from './work-lists.ts';

/** The admin API (decisions, "Admin API"), below `/api/v1`. Every call is one organization's, by its token. */
export function adminApi(app: HttpServer, deps: AdminDeps): void {
  app.decorateRequest('admin', null);
  const lastUse = new LastUse({ ...deps, logger: app.log });
  app.register(
    async (scope: HttpServer) => {
      const refusals = new RefusalAudit(deps);
      scope.setErrorHandler(async (error, request, reply) => {
        if (error instanceof AccessRefusedError) {
          await auditAccessRefusal(refusals, request, adminOf(request), `and was refused: ${error.message}`);
        }
        answerError(nameBodyLimit(error, request), request, reply);
        return reply;
      });
      scope.addHook('onRequest', async (request: FastifyRequest, reply: FastifyReply) => {
        // Answers hold tokens that are shown once, and whatever else they hold is one organization's own.
        reply.header('cache-control', 'no-store');
        try {
          request.admin = await authenticateAdmin({ ...deps, lastUse }, request.headers);
        } catch (error) {
          const isMe = request.method === 'GET' && request.routeOptions.url === `${scope.prefix}/me`;
          if (!isMe || !(error instanceof ChooseOrganizationError)) throw error;
          return await reply.send(meToChoose(error.choice));
        }
        return undefined;
      });
      requireScope(scope, { refusals });
      auditRefusals(scope, { ...deps, refusals });
      refuseUnread(scope);
      idempotentPosts(scope, deps);
      clusterRoutes(scope, deps);
      listClustersRoute(scope, deps);
      fleetRoute(scope, deps);
      applicationRoutes(scope, deps);
      workListRoutes(scope, deps);
      searchRoute(scope, deps);
      savedFilterRoutes(scope, deps);
      clusterStateRoutes(scope, deps);
      modeRoutes(scope, deps);
      rebindRoute(scope, deps);
      acceptRemovalsRoute(scope, deps);
      deleteClusterRoute(scope, deps);
      signingKeyRoutes(scope, deps);
      commitSigningKeyRoutes(scope, deps);
      trustRevisionRoute(scope, deps);
      organizationRoutes(scope, deps);
      clientAuthorityRoute(scope, deps);
      installLinkRoutes(scope, deps);
      catalogRoutes(scope, deps);
      catalogCredentialRoutes(scope, deps);
      catalogVersionRoutes(scope, deps);
      operationTemplateRoutes(scope, deps);
      operationRoutes(scope, deps);
      intentRoutes(scope, deps);
      approvalRoutes(scope, deps);
      proposalRoutes(scope, deps);
      jobRoutes(scope, deps);
      recoveryKeyRoutes(scope, deps);
      reportRoutes(scope, deps);
      adminTokenRoutes(scope, deps);
      memberRoutes(scope, deps);
      meRoute(scope);
      organizationsRoutes(scope, deps);
      auditRoutes(scope, deps);
      changeRoutes(scope, deps);
      timelineRoute(scope, deps);
      channelRoutes(scope, deps);
      channelWebhookRoutes(scope, deps);
      repositoryRoutes(scope, deps);
      hostRepositoryRoutes(scope, deps);
      repositoryLayoutRoute(scope, deps);
      historyRoutes(scope, deps);
      pushCredentialRoutes(scope, deps);
    },
    { prefix: '/api/v1' },
  );
  app.register(
    async (open: HttpServer) => {
      refuseUnread(open);
      loginRoute(open, deps);
    },
    { prefix: '/api/v1' },
  );
}
