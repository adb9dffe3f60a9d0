import { Type } from 'typebox';
import { KubeconfigText } from '../../push/read-kubeconfig.ts';
import { probePushCredential, setPushCredential } from '../../push/set-push-credential.ts';
import type { HttpServer } from '../server.ts';
import type { AdminDeps } from './admin-deps.ts';
import { adminOf } from './authenticate.ts';
import { viewCluster } from './cluster-view.ts';
import { bodyMayBeAbsent, ClusterParams, NoBody, requireCluster } from './named-cluster.ts';

const strict = { additionalProperties: false } as const;

const PutPushCredential = Type.Object({ kubeconfig: KubeconfigText }, strict);

/** `PUT /clusters/{id}/push-credential`, `POST /clusters/{id}/push-credential/probe`: answered with the cluster. */
export function pushCredentialRoutes(app: HttpServer, deps: AdminDeps): void {
  const view = async (organization: { readonly id: string; readonly name: string }, id: string) =>
    await viewCluster(deps, await requireCluster(deps.store.db, organization.id, id), organization.name);

  const put = { schema: { params: ClusterParams, body: PutPushCredential } };
  app.put('/clusters/:cluster/push-credential', put, async (request, reply) => {
    const admin = adminOf(request);
    const cluster = await requireCluster(deps.store.db, admin.organization.id, request.params.cluster);
    await setPushCredential(deps, admin, cluster, request.body.kubeconfig, app.closing);
    return await reply.send(await view(admin.organization, cluster.id));
  });

  const probe = { schema: { params: ClusterParams, body: NoBody }, preValidation: bodyMayBeAbsent };
  app.post('/clusters/:cluster/push-credential/probe', probe, async (request, reply) => {
    const admin = adminOf(request);
    const cluster = await requireCluster(deps.store.db, admin.organization.id, request.params.cluster);
    await probePushCredential(deps, admin, cluster, app.closing);
    return await reply.send(await view(admin.organization, cluster.id));
  });
}
