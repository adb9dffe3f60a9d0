import { Type } from 'typebox';
import { AppError } from '../../../protocol/app-error.ts';
import { appendAudit } from '../../store/audit.ts';
import { raiseConfigRevision } from '../../store/clusters.ts';
import { lockCluster } from '../../store/lock-cluster.ts';
import { configTopic } from '../../topics.ts';
import { answers } from '../openapi/answers.ts';
import type { HttpServer } from '../server.ts';
import type { AdminDeps } from './admin-deps.ts';
import { adminOf } from './authenticate.ts';
import { viewCluster } from './cluster-view.ts';
import { ClusterParams, requireCluster } from './named-cluster.ts';
import { ClusterAnswer } from './cluster-answer.ts';

const TrustRevision = Type.Object(
  {
    revision: Type.String({
      pattern: '^[0-9a-f]{40}$',
      description: "tree id of the cluster's directory, as its condition Synced names it",
    }),
  },
  { additionalProperties: false },
);

const trust = {
  tags: ['clusters'],
  operationId: 'trustRevision',
  summary: 'Vouches for the directory of a cluster as it is, whoever signed what led to it',
  params: ClusterParams,
  body: TrustRevision,
  response: answers({ 200: ClusterAnswer }),
};

/**
 * `POST /clusters/{id}/trust-revision`: a person has looked at the directory as it is and vouches for it, whoever signed
 * what led to it. It holds for this content of the directory and for no other; the next one takes its place.
 */
export function trustRevisionRoute(app: HttpServer, deps: AdminDeps): void {
  app.post('/clusters/:cluster/trust-revision', { schema: trust }, async (request, reply) => {
    const { organization, name } = adminOf(request);
    const { revision } = request.body;
    const cluster = await deps.store.write(async (trx) => {
      const { id, slug } = await requireCluster(trx, organization.id, request.params.cluster);
      const row = await lockCluster(trx, id);
      if (row?.connectivity_mode !== 'gitops') {
        throw new AppError('conflict', `cluster ${slug} does not read from Git: there is no revision of it to trust`);
      }
      if (row.trusted_revision === revision) return row;
      await trx.updateTable('clusters').set({ trusted_revision: revision }).where('id', '=', id).execute();
      await raiseConfigRevision(trx, id);
      await appendAudit(trx, {
        organizationId: organization.id,
        at: deps.clock.now().toISOString(),
        source: 'user',
        kind: 'RevisionTrusted',
        clusterId: id,
        actor: name,
        summary: `cluster ${slug}: revision ${revision} is trusted, whoever signed the commits that led to it`,
      });
      return { ...row, trusted_revision: revision };
    });
    deps.wakeups.notify(configTopic(cluster.id));
    return await reply.send(await viewCluster(deps, cluster, organization.name));
  });
}
