import type { Kysely } from 'kysely';
import { Type } from 'typebox';
import { assertPublicKey } from '../../../protocol/jwe.ts';
import { PublicJwk } from '../../../protocol/register.ts';
import { okpThumbprint } from '../../../protocol/signing-key.ts';
import { appendAudit } from '../../store/audit.ts';
import type { AdminIdentity } from '../../store/admin-tokens.ts';
import { findOrganization } from '../../store/organizations.ts';
import { listRecoverableValues } from '../../store/recovery-values.ts';
import type { Database } from '../../store/schema.ts';
import { answerOf, answers, NoAnswer, orNull, pageOf } from '../openapi/answers.ts';
import type { HttpServer } from '../server.ts';
import type { AdminDeps } from './admin-deps.ts';
import { adminOf } from './authenticate.ts';
import { ClusterParams, requireCluster } from './named-cluster.ts';
import { answerPage, PageQuery, readPage } from './page.ts';

const RecoveryKeyBody = Type.Object({ publicKey: PublicJwk }, { additionalProperties: false });

const RecoveryKeyAnswer = answerOf('RecoveryKeyAnswer', { recoveryKey: orNull(PublicJwk) });
const RecoveryValuesAnswer = answerOf('RecoveryValuesAnswer', {
  clusterId: Type.String(),
  publicKey: orNull(PublicJwk),
  recoveryKey: orNull(PublicJwk),
  ...pageOf(
    answerOf('RecoverableValuesAnswer', {
      id: Type.String({ description: 'of the intent' }),
      namespace: Type.String(),
      name: Type.String(),
      generation: Type.Integer(),
      sealedValues: Type.String({ description: "to the cluster's key" }),
      recoveryValues: Type.Optional(Type.String({ description: 'the same to the recovery key' })),
    }),
  ).properties,
});

const show = {
  tags: ['organization'],
  operationId: 'getRecoveryKey',
  summary: 'The public half of the key that secret values are sealed to besides',
  response: answers({ 200: RecoveryKeyAnswer }),
};
const put = {
  tags: ['organization'],
  operationId: 'setRecoveryKey',
  summary: 'Seals secret values that are accepted from now on to this key too',
  body: RecoveryKeyBody,
  response: answers({ 200: RecoveryKeyAnswer }),
};
const remove = {
  tags: ['organization'],
  operationId: 'deleteRecoveryKey',
  summary: 'Seals secret values to their cluster alone from now on',
  response: answers({ 204: NoAnswer }),
};
const values = {
  tags: ['clusters'],
  operationId: 'listRecoveryValues',
  summary: 'Sealed values of a cluster, for servicectl reseal',
  params: ClusterParams,
  querystring: PageQuery,
  response: answers({ 200: RecoveryValuesAnswer }),
};

/**
 * `GET`, `PUT`, `DELETE /organization/recovery-key`: the public half of the key that secret values are sealed to besides
 * their cluster's. `GET /clusters/{id}/recovery-values`: what `servicectl reseal` opens with the private half.
 */
export function recoveryKeyRoutes(app: HttpServer, deps: AdminDeps): void {
  app.get('/organization/recovery-key', { schema: show }, async (request, reply) => {
    return await reply.send(await viewKey(deps.store.db, adminOf(request)));
  });

  app.put('/organization/recovery-key', { schema: put }, async (request, reply) => {
    const admin = adminOf(request);
    const { publicKey } = request.body;
    assertPublicKey(publicKey);
    // Named by what it is: a name of somebody's choice could stand for another key.
    const { x = '' } = publicKey;
    const kid = okpThumbprint('X25519', x);
    const jwk = JSON.stringify({ kty: 'OKP', crv: 'X25519', x, kid, use: 'enc', alg: 'ECDH-ES' });
    await setKey(deps, admin, jwk, `recovery key ${kid} set: secret values accepted from now on are sealed to it too`);
    return await reply.send(await viewKey(deps.store.db, admin));
  });

  app.delete('/organization/recovery-key', { schema: remove }, async (request, reply) => {
    const summary = 'recovery key removed: secret values accepted from now on are sealed to their cluster alone';
    await setKey(deps, adminOf(request), null, summary);
    return await reply.code(204).send();
  });

  app.get('/clusters/:cluster/recovery-values', { schema: values }, async (request, reply) => {
    const { organization } = adminOf(request);
    const cluster = await requireCluster(deps.store.db, organization.id, request.params.cluster);
    const page = readPage(request.query, 's');
    const after = page.after === undefined ? undefined : String(page.after[0]);
    const answer = await answerPage(
      page,
      async (limit) => await listRecoverableValues(deps.store.db, cluster.id, { limit, after }),
      ({ id }) => [id],
      (row) => row,
    );
    const { recoveryKey } = await viewKey(deps.store.db, adminOf(request));
    const publicKey = cluster.public_key === null ? null : (JSON.parse(cluster.public_key) as unknown);
    return await reply.send({ clusterId: cluster.id, publicKey, recoveryKey, ...answer });
  });
}

async function viewKey(db: Kysely<Database>, { organization }: AdminIdentity): Promise<{ recoveryKey: unknown }> {
  const row = await findOrganization(db, organization.id);
  const text = row?.recovery_public_key ?? null;
  return { recoveryKey: text === null ? null : (JSON.parse(text) as unknown) };
}

async function setKey(deps: AdminDeps, admin: AdminIdentity, jwk: string | null, summary: string): Promise<void> {
  await deps.store.write(async (trx) => {
    const { organization } = admin;
    const changed = await trx
      .updateTable('organizations')
      .set({ recovery_public_key: jwk })
      .where('id', '=', organization.id)
      .where('recovery_public_key', 'is distinct from', jwk)
      .executeTakeFirst();
    if (changed.numUpdatedRows === 0n) return;
    const at = deps.clock.now().toISOString();
    const entry = { organizationId: organization.id, at, source: 'user', actor: admin.name, summary } as const;
    await appendAudit(trx, { ...entry, kind: 'RecoveryKeyChanged' });
  });
}
