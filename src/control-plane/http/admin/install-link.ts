import { Type } from 'typebox';
import { installSteps } from '../../../install/install-commands.ts';
import { INSTALL_LINK_LIFETIME_SECONDS } from '../../install-links.ts';
import { appendAudit } from '../../store/audit.ts';
import { answerOf, answers, listOf, Time } from '../openapi/answers.ts';
import type { HttpServer } from '../server.ts';
import type { AdminDeps } from './admin-deps.ts';
import { adminOf } from './authenticate.ts';
import { bodyMayBeAbsent, ClusterParams, requireCluster } from './named-cluster.ts';

const InstallLinkRequest = Type.Object(
  { lifetimeSeconds: Type.Optional(Type.Integer({ minimum: 60, maximum: 86_400 })) },
  { additionalProperties: false },
);

const InstallLinkAnswer = answerOf('InstallLinkAnswer', {
  slug: Type.String(),
  crdsUrl: Type.String(),
  operatorUrl: Type.String(),
  expiresAt: Time,
  commands: listOf(Type.String({ description: 'a command line' })),
});
const issue = {
  tags: ['clusters'],
  operationId: 'issueInstallLink',
  summary: 'Links to the two files of an installation, and the commands that use them',
  params: ClusterParams,
  body: InstallLinkRequest,
  response: answers({ 201: InstallLinkAnswer }),
};

/** `POST /clusters/{id}/install-link`: links to the two files of an installation, and the commands that use them. */
export function installLinkRoutes(app: HttpServer, deps: AdminDeps): void {
  const options = { schema: issue, preValidation: bodyMayBeAbsent };
  app.post('/clusters/:cluster/install-link', options, async (request, reply) => {
    const { organization, name } = adminOf(request);
    const { lifetimeSeconds = INSTALL_LINK_LIFETIME_SECONDS } = request.body;
    const { id, slug } = await requireCluster(deps.store.db, organization.id, request.params.cluster);
    const links = deps.installLinks.issue(id, lifetimeSeconds);
    await deps.store.write(async (trx) => {
      await appendAudit(trx, {
        organizationId: organization.id,
        at: deps.clock.now().toISOString(),
        source: 'user',
        kind: 'InstallLinkIssued',
        clusterId: id,
        actor: name,
        summary: `links to the operator's manifest issued for cluster ${slug}, until ${links.expiresAt}`,
      });
    });
    const commands = installSteps({ slug, ...links }).map(({ command }) => command);
    return await reply.code(201).send({ slug, ...links, commands });
  });
}
