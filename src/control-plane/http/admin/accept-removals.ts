import { Type } from 'typebox';
import { appendAudit } from '../../store/audit.ts';
import { acceptRemovals } from '../../store/cluster-admin.ts';
import { raiseConfigRevision } from '../../store/clusters.ts';
import { configTopic } from '../../topics.ts';
import type { HttpServer } from '../server.ts';
import type { AdminDeps } from './admin-deps.ts';
import { adminOf } from './authenticate.ts';
import { viewCluster } from './cluster-view.ts';
import { refuseWithoutGit } from './git-change.ts';
import { ClusterParams, requireCluster } from './named-cluster.ts';

const AcceptRemovals = Type.Object(
  {
    /** Tree id of the directory, as the condition `Synced` with the reason `RemovalsHeld` names it. */
    revision: Type.String({ pattern: '^(?:[0-9a-f]{40}|[0-9a-f]{64})$' }),
  },
  { additionalProperties: false },
);

/** `POST /clusters/{id}/accept-removals`: what vanished by this revision was meant to. The next revision is judged anew. */
export function acceptRemovalsRoute(app: HttpServer, deps: AdminDeps): void {
  const options = { schema: { params: ClusterParams, body: AcceptRemovals } };
  app.post('/clusters/:cluster/accept-removals', options, async (request, reply) => {
    const { organization, name } = adminOf(request);
    const { revision } = request.body;
    const id = await deps.store.write(async (trx) => {
      const cluster = await requireCluster(trx, organization.id, request.params.cluster);
      refuseWithoutGit(cluster);
      await acceptRemovals(trx, cluster.id, revision);
      await raiseConfigRevision(trx, cluster.id);
      await appendAudit(trx, {
        organizationId: organization.id,
        at: deps.clock.now().toISOString(),
        source: 'user',
        kind: 'RemovalsAccepted',
        clusterId: cluster.id,
        actor: name,
        summary: `cluster ${cluster.slug}: files that vanished by revision ${revision} were meant to`,
      });
      return cluster.id;
    });
    deps.wakeups.notify(configTopic(id));
    const row = await requireCluster(deps.store.db, organization.id, id);
    return await reply.send(await viewCluster(deps, row, organization.name));
  });
}
