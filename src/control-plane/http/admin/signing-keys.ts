import { Type, type Static } from 'typebox';
import { PublicJwk } from '../../../protocol/register.ts';
import { revokeSigningKey, rotateSigningKey } from '../../rotate-signing-key.ts';
import type { SigningKeyRow } from '../../store/schema.ts';
import { everySigningKey, publicJwkOf } from '../../store/signing-keys.ts';
import { answerOf, answers, listOf, NoAnswer, oneOf, Time } from '../openapi/answers.ts';
import type { HttpServer } from '../server.ts';
import type { AdminDeps } from './admin-deps.ts';
import { adminOf } from './authenticate.ts';
import { ifKnown } from './cluster-view.ts';
import { bodyMayBeAbsent, ClusterParams, NoBody, requireCluster } from './named-cluster.ts';

/** `current` signs, `retired` verifies what it signed, `revoked` does nothing. */
const SigningKeyAnswer = answerOf('SigningKeyAnswer', {
  kid: Type.String(),
  state: oneOf(['current', 'retired', 'revoked']),
  publicJwk: PublicJwk,
  createdAt: Time,
  predecessor: Type.Optional(Type.String({ description: "the key that endorsed it; absent for a cluster's first" })),
  retiredAt: Type.Optional(Time),
  revokedAt: Type.Optional(Time),
});
type SigningKeyView = Static<typeof SigningKeyAnswer>;
const SigningKeysAnswer = answerOf('SigningKeysAnswer', { items: listOf(SigningKeyAnswer) });

const KeyParams = Type.Object({ ...ClusterParams.properties, kid: Type.String({ minLength: 1, maxLength: 256 }) });

const list = {
  tags: ['clusters'],
  operationId: 'listSigningKeys',
  summary: 'Keys that sign what is for the cluster',
  params: ClusterParams,
  response: answers({ 200: SigningKeysAnswer }),
};
const rotate = {
  tags: ['clusters'],
  operationId: 'rotateSigningKey',
  summary: 'A new signing key, endorsed by the present one',
  params: ClusterParams,
  body: NoBody,
  response: answers({ 201: SigningKeyAnswer }),
};
const revoke = {
  tags: ['clusters'],
  operationId: 'revokeSigningKey',
  summary: 'Revokes a signing key that does not sign any more',
  params: KeyParams,
  response: answers({ 204: NoAnswer }),
};

/** `POST`, `GET /clusters/{id}/signing-keys`; `DELETE /clusters/{id}/signing-keys/{kid}`. */
export function signingKeyRoutes(app: HttpServer, deps: AdminDeps): void {
  const path = '/clusters/:cluster/signing-keys';

  app.get(path, { schema: list }, async (request, reply) => {
    const { organization } = adminOf(request);
    const cluster = await requireCluster(deps.store.db, organization.id, request.params.cluster);
    const rows = await everySigningKey(deps.store.db, cluster.id);
    return await reply.send({ items: rows.map(viewKey) });
  });

  const rotation = { schema: rotate, preValidation: bodyMayBeAbsent };
  app.post(path, rotation, async (request, reply) => {
    const admin = adminOf(request);
    const cluster = await requireCluster(deps.store.db, admin.organization.id, request.params.cluster);
    return await reply.code(201).send(viewKey(await rotateSigningKey(deps, cluster, admin)));
  });

  app.delete(`${path}/:kid`, { schema: revoke }, async (request, reply) => {
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
