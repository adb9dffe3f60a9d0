import { Type } from 'typebox';
import type { PublicJwk } from '../../../protocol/register.ts';
import { revokeSigningKey, rotateSigningKey } from '../../rotate-signing-key.ts';
import type { SigningKeyRow } from '../../store/schema.ts';
import { everySigningKey, publicJwkOf } from '../../store/signing-keys.ts';
import type { HttpServer } from '../server.ts';
import type { AdminDeps } from './admin-deps.ts';
import { adminOf } from './authenticate.ts';
import { ifKnown } from './cluster-view.ts';
import { bodyMayBeAbsent, ClusterParams, NoBody, requireCluster } from './named-cluster.ts';

/** A signing key as the admin API shows it: `current` signs, `retired` verifies what it signed, `revoked` does nothing. */
interface SigningKeyView {
  readonly kid: string;
  readonly state: 'current' | 'retired' | 'revoked';
  readonly publicJwk: PublicJwk;
  readonly createdAt: string;
  /** The key that endorsed it; absent for a cluster's first. */
  readonly predecessor?: string;
  readonly retiredAt?: string;
  readonly revokedAt?: string;
}

const KeyParams = Type.Object({ ...ClusterParams.properties, kid: Type.String({ minLength: 1, maxLength: 256 }) });

/** `POST`, `GET /clusters/{id}/signing-keys`; `DELETE /clusters/{id}/signing-keys/{kid}`. */
export function signingKeyRoutes(app: HttpServer, deps: AdminDeps): void {
  const path = '/clusters/:cluster/signing-keys';

  app.get(path, { schema: { params: ClusterParams } }, async (request, reply) => {
    const { organization } = adminOf(request);
    const cluster = await requireCluster(deps.store.db, organization.id, request.params.cluster);
    const rows = await everySigningKey(deps.store.db, cluster.id);
    return await reply.send({ items: rows.map(viewKey) });
  });

  const rotation = { schema: { params: ClusterParams, body: NoBody }, preValidation: bodyMayBeAbsent };
  app.post(path, rotation, async (request, reply) => {
    const admin = adminOf(request);
    const cluster = await requireCluster(deps.store.db, admin.organization.id, request.params.cluster);
    return await reply.code(201).send(viewKey(await rotateSigningKey(deps, cluster, admin)));
  });

  app.delete(`${path}/:kid`, { schema: { params: KeyParams } }, async (request, reply) => {
    const admin = adminOf(request);
    const cluster = await requireCluster(deps.store.db, admin.organization.id, request.params.cluster);
    await revokeSigningKey(deps, cluster, admin, request.params.kid);
    return await reply.code(204).send();
  });
}

function viewKey(row: SigningKeyRow): SigningKeyView {
  return {
    kid: row.kid,
    state: row.revoked_at !== null ? 'revoked' : row.retired_at !== null ? 'retired' : 'current',
    publicJwk: publicJwkOf(row),
    createdAt: row.created_at,
    ...ifKnown('predecessor', row.predecessor),
    ...ifKnown('retiredAt', row.retired_at),
    ...ifKnown('revokedAt', row.revoked_at),
  };
}
