import type { Kysely } from 'kysely';
import { Type, type Static } from 'typebox';
import { revokeAgentCredentials } from '../../store/agent-credentials.ts';
import { appendAudit } from '../../store/audit.ts';
import { expireRegistrationTokens } from '../../store/cluster-admin.ts';
import { raiseConfigRevision } from '../../store/clusters.ts';
import { revokeGitCredentialsOf } from '../../store/git-credentials.ts';
import { lockCluster } from '../../store/lock-cluster.ts';
import type { Database } from '../../store/schema.ts';
import { configTopic } from '../../topics.ts';
import { answers } from '../openapi/answers.ts';
import type { HttpServer } from '../server.ts';
import type { AdminDeps } from './admin-deps.ts';
import { adminOf } from './authenticate.ts';
import { viewCluster } from './cluster-view.ts';
import { bodyMayBeAbsent, ClusterParams, requireCluster } from './named-cluster.ts';
import { ClusterAnswer } from './cluster-answer.ts';

const RebindRequest = Type.Object(
  {
    clusterUid: Type.Optional(
      Type.String({ minLength: 1, maxLength: 128, description: 'UID of the namespace kube-system' }),
    ),
  },
  { additionalProperties: false },
);
type RebindRequest = Static<typeof RebindRequest>;

const rebind = {
  tags: ['clusters'],
  operationId: 'rebindCluster',
  summary: 'Binds the record to another cluster; the one before is out',
  params: ClusterParams,
  body: RebindRequest,
  response: answers({ 200: ClusterAnswer }),
};

/**
 * `POST /clusters/{id}/rebind`: the record is for another cluster from now on: the one with the UID that is named, else the
 * first that registers. The one before is out, its key included: nothing may be sealed to it or recovered with it any more.
 */
export function rebindRoute(app: HttpServer, deps: AdminDeps): void {
  const options = { schema: rebind, preValidation: bodyMayBeAbsent };
  app.post('/clusters/:cluster/rebind', options, async (request, reply) => {
    const { organization, name } = adminOf(request);
    const { clusterUid = null } = request.body;
    const id = await deps.store.write(async (trx) => {
      const cluster = await requireCluster(trx, organization.id, request.params.cluster);
      await lockCluster(trx, cluster.id);
      const now = deps.clock.now();
      await unbind(trx, cluster.id, clusterUid, now);
      await appendAudit(trx, {
        organizationId: organization.id,
        at: now.toISOString(),
        source: 'user',
        kind: 'ClusterRebound',
        clusterId: cluster.id,
        actor: name,
        summary: `cluster ${cluster.slug} is to be ${clusterUid === null ? 'whichever registers next' : `the one with UID ${clusterUid}`}, was ${cluster.cluster_uid ?? 'not bound'}; its credentials and its key are void`,
      });
      return cluster.id;
    });
    deps.wakeups.notify(configTopic(id));
    const row = await requireCluster(deps.store.db, organization.id, id);
    return await reply.send(await viewCluster(deps, row, organization.name));
  });
}

async function unbind(
  trx: Kysely<Database>,
  id: string,
  clusterUid: RebindRequest['clusterUid'] | null,
  now: Date,
): Promise<void> {
  const at = now.toISOString();
  await trx
    .updateTable('clusters')
    .set({ cluster_uid: clusterUid ?? null, public_key: null, applied_revision: null, revoked_at: at })
    .where('id', '=', id)
    .execute();
  await revokeAgentCredentials(trx, id, at);
  await revokeGitCredentialsOf(trx, id, now);
  await expireRegistrationTokens(trx, id, at);
  await raiseConfigRevision(trx, id);
}
