import { Type } from 'typebox';
import { deleteCluster } from '../../delete-cluster.ts';
import { configTopic } from '../../topics.ts';
import { answers, NoAnswer } from '../openapi/answers.ts';
import type { HttpServer } from '../server.ts';
import type { AdminDeps } from './admin-deps.ts';
import { adminOf } from './authenticate.ts';
import { ClusterParams, requireCluster } from './named-cluster.ts';

const DeleteQuery = Type.Object({ force: Type.Optional(Type.Boolean()) }, { additionalProperties: false });

const remove = {
  tags: ['clusters'],
  operationId: 'deleteCluster',
  summary: 'Deletes the record of a cluster that is disabled or never registered; with force any',
  params: ClusterParams,
  querystring: DeleteQuery,
  response: answers({ 204: NoAnswer }),
};

/** `DELETE /clusters/{id}?force=`: the record of a cluster that is disabled or never registered; with `force` any. */
export function deleteClusterRoute(app: HttpServer, deps: AdminDeps): void {
  app.delete('/clusters/:cluster', { schema: remove }, async (request, reply) => {
    const admin = adminOf(request);
    const cluster = await requireCluster(deps.store.db, admin.organization.id, request.params.cluster);
    await deleteCluster(deps, cluster, admin, request.query.force ?? false);
    // A held request of its agent ends.
    deps.wakeups.notify(configTopic(cluster.id));
    return await reply.code(204).send();
  });
}
