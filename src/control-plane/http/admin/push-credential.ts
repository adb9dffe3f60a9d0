import { Type } from 'typebox';
import { KubeconfigText } from '../../push/read-kubeconfig.ts';
import { probePushCredential, setPushCredential } from '../../push/set-push-credential.ts';
import { answers } from '../openapi/answers.ts';
import type { HttpServer } from '../server.ts';
import type { AdminDeps } from './admin-deps.ts';
import { adminOf } from './authenticate.ts';
import { viewCluster } from './cluster-view.ts';
import { bodyMayBeAbsent, ClusterParams, NoBody, requireCluster } from './named-cluster.ts';
import { ClusterAnswer } from './cluster-answer.ts';

const strict = { additionalProperties: false } as const;

const PutPushCredential = Type.Object({ kubeconfig: KubeconfigText }, strict);

const set = {
  tags: ['clusters'],
  operationId: 'setPushCredential',
  summary: 'Gives push mode its credential',
  params: ClusterParams,
  body: PutPushCredential,
  response: answers({ 200: ClusterAnswer }),
};
const look = {
  tags: ['clusters'],
  operationId: 'probePushCredential',
  summary: 'Tries the credential of push mode, and writes nothing to the cluster',
  params: ClusterParams,
  body: NoBody,
  response: answers({ 200: ClusterAnswer }),
};

/** `PUT /clusters/{id}/push-credential`, `POST /clusters/{id}/push-credential/probe`: answered with the cluster. */
export function pushCredentialRoutes(app: HttpServer, deps: AdminDeps): void {
  const view = async (organization: { readonly id: string; readonly name: string }, id: string) =>
    await viewCluster(deps, await requireCluster(deps.store.db, organization.id, id), organization.name);

  const put = { schema: set };
  app.put('/clusters/:cluster/push-credential', put, async (request, reply) => {
    const admin = adminOf(request);
    const cluster = await requireCluster(deps.store.db, admin.organization.id, request.params.cluster);
    await setPushCredential(deps, admin, cluster, request.body.kubeconfig, app.closing);
    return await reply.send(await view(admin.organization, cluster.id));
  });

  const probe = { schema: look, preValidation: bodyMayBeAbsent };
  app.post('/clusters/:cluster/push-credential/probe', probe, async (request, reply) => {
    const admin = adminOf(request);
    const cluster = await requireCluster(deps.store.db, admin.organization.id, request.params.cluster);
    await probePushCredential(deps, admin, cluster, app.closing);
    return await reply.send(await view(admin.organization, cluster.id));
  });
}
