import { Type } from 'typebox';
import { refusal } from '../../../protocol/parse.ts';
import { gitSettingsOf } from '../../git/git-settings.ts';
import { appendAudit } from '../../store/audit.ts';
import { acceptRemovals } from '../../store/cluster-admin.ts';
import { raiseConfigRevision } from '../../store/clusters.ts';
import type { ClusterRow } from '../../store/schema.ts';
import { configTopic } from '../../topics.ts';
import { answers } from '../openapi/answers.ts';
import type { HttpServer } from '../server.ts';
import type { AdminDeps } from './admin-deps.ts';
import { adminOf } from './authenticate.ts';
import { viewCluster } from './cluster-view.ts';
import { refuseWithoutGit } from './git-change.ts';
import { ClusterParams, requireCluster } from './named-cluster.ts';
import { ClusterAnswer } from './cluster-answer.ts';

const AcceptRemovals = Type.Object(
  {
    /** `<tree>@<digest>`, as the condition `Synced` with the reason `RemovalsHeld` prints it. */
    revision: Type.String({ maxLength: 200 }),
  },
  { additionalProperties: false },
);

const ACCEPTANCE = /^(?:[0-9a-f]{40}|[0-9a-f]{64})@[0-9a-f]{32}$/;

const accept = {
  tags: ['clusters'],
  operationId: 'acceptRemovals',
  summary: 'Lets go the objects that the prune breaker holds',
  params: ClusterParams,
  body: AcceptRemovals,
  response: answers({ 200: ClusterAnswer }),
};

/**
 * `POST /clusters/{id}/accept-removals`: these objects may go for this tree of the directory, as the digest says, and no
 * others. It ends with them, and with the next revision.
 */
export function acceptRemovalsRoute(app: HttpServer, deps: AdminDeps): void {
  app.post('/clusters/:cluster/accept-removals', { schema: accept }, async (request, reply) => {
    const { organization, name } = adminOf(request);
    const { revision } = request.body;
    const id = await deps.store.write(async (trx) => {
      const cluster = await requireCluster(trx, organization.id, request.params.cluster);
      refuseWithoutGit(cluster);
      refuseWhatAcceptsNothing(cluster, revision);
      await acceptRemovals(trx, cluster.id, revision);
      await raiseConfigRevision(trx, cluster.id);
      await appendAudit(trx, {
        organizationId: organization.id,
        at: deps.clock.now().toISOString(),
        source: 'user',
        kind: 'RemovalsAccepted',
        clusterId: cluster.id,
        actor: name,
        summary: `cluster ${cluster.slug}: removals held as ${revision} were meant`,
      });
      return cluster.id;
    });
    deps.wakeups.notify(configTopic(id));
    const row = await requireCluster(deps.store.db, organization.id, id);
    return await reply.send(await viewCluster(deps, row, organization.name));
  });
}

/** @throws AppError `constraint_violated` */
function refuseWhatAcceptsNothing(cluster: Pick<ClusterRow, 'git_settings'>, revision: string): void {
  if (!ACCEPTANCE.test(revision)) {
    const message =
      'must be <tree>@<digest> as the condition Synced, reason RemovalsHeld, prints it after --revision: the tree of the directory and a digest of the objects that go for it; a tree alone does not say which';
    throw refusal([{ path: '/revision', message }]);
  }
  if (gitSettingsOf(cluster).pruneOnRemoval) return;
  const message = 'this cluster prunes nothing, so there is nothing to accept: set git.pruneOnRemoval first';
  throw refusal([{ path: '/git/pruneOnRemoval', message }]);
}
