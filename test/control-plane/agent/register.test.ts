import { generateKeyPairSync, X509Certificate } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { findCluster } from '../../../src/control-plane/store/clusters.ts';
import { findSigningKeys, signingKeyContext } from '../../../src/control-plane/store/signing-keys.ts';
import { generateEncryptionKeypair } from '../../../src/protocol/jwe.ts';
import { AGENT_MEDIA_TYPE } from '../../../src/protocol/media-type.ts';
import type { RegisterResponse } from '../../../src/protocol/register.ts';
import { isWellFormedToken } from '../../../src/protocol/token.ts';
import { newClientKey, newWeakRequest } from '../../support/client-key.ts';
import { AgentServer } from './agent-server.ts';

async function auditKinds(server: AgentServer): Promise<string[]> {
  const rows = await server.store.db.selectFrom('audit').select(['source', 'kind']).orderBy('id').execute();
  return rows.map(({ source, kind }) => `${source} ${kind}`);
}

describe('POST /api/agent/register', () => {
  it('answers a credential, the signing key and the config revision, and makes the record Active', async () => {
    await using server = await AgentServer.start();
    const { id, registrationToken } = await server.newCluster('prod-eu');
    const { publicJwk } = await generateEncryptionKeypair();
    const answer = await server.register(registrationToken, {
      cluster_uid: 'uid-1',
      public_key: publicJwk,
      operator_version: '0.1.0',
    });
    expect(answer.status).toBe(200);
    expect(answer.headers['content-type']).toBe(AGENT_MEDIA_TYPE);
    expect(answer.headers['service-config-revision']).toBe('2');
    expect(answer.headers['service-request-id']).toMatch(/^req-/);
    const keys = await findSigningKeys(server.store.db, id);
    const body = answer.body as RegisterResponse;
    expect(body).toEqual({
      cluster_id: id,
      token: expect.any(String) as string,
      expires_at: '2026-03-31T10:00:00.000Z',
      // 7 days × (0.7 + 0.3 × 0.5)
      rotate_after: '2026-03-07T08:48:00.000Z',
      connectivity_mode: 'gitops',
      signing_public_keys: { keys: [JSON.parse(keys[0]?.public_jwk ?? '')] },
      ca_certificate: '',
    });
    expect(isWellFormedToken('svcagt', body.token)).toBe(true);
    expect(keys).toHaveLength(1);
    const opened = await server.masterKey.open(keys[0]?.private_key_sealed ?? '', signingKeyContext(id));
    expect(JSON.parse(opened.expose())).toMatchObject({ kty: 'OKP', crv: 'Ed25519', kid: keys[0]?.kid });
    expect(await findCluster(server.store.db, id)).toMatchObject({
      status: 'Active',
      cluster_uid: 'uid-1',
      public_key: JSON.stringify(publicJwk),
      operator_version: '0.1.0',
      registered_at: '2026-03-01T10:00:00.000Z',
    });
    expect(await auditKinds(server)).toEqual(['agent ClusterRegistered']);
  });

  it('A6: lets exactly one of many callers in that race with one token, and audits the others', async () => {
    await using server = await AgentServer.start();
    const { id, registrationToken } = await server.newCluster('prod-eu');
    const answers = await Promise.all(
      Array.from({ length: 12 }, async (_, n) => await server.register(registrationToken, { cluster_uid: `uid-${n}` })),
    );
    const won = answers.filter(({ status }) => status === 200);
    const lost = answers.filter(({ status }) => status !== 200);
    expect(won).toHaveLength(1);
    expect(lost.map(({ status, body }) => `${status} ${(body as { error: string }).error}`)).toEqual(
      Array.from({ length: 11 }, () => '401 registration_token_used'),
    );
    expect(await server.store.db.selectFrom('agent_credentials').selectAll().execute()).toHaveLength(1);
    const winner = { id, token: (won.at(0)?.body as RegisterResponse | undefined)?.token ?? '' };
    expect((await server.get(winner, '/api/agent/config')).status).toBe(200);
    expect(await auditKinds(server)).toEqual(['agent ClusterRegistered', 'agent RegistrationTokenUsed']);
  });

  it('takes the token from the Authorization header, without a body', async () => {
    await using server = await AgentServer.start();
    const { registrationToken } = await server.newCluster('prod-eu');
    const answer = await server.call({
      method: 'POST',
      url: '/api/agent/register',
      headers: { authorization: `Bearer ${registrationToken}` },
    });
    expect(answer.status).toBe(200);
  });

  it('ends earlier credentials when a cluster registers again, and keeps its signing key', async () => {
    await using server = await AgentServer.start();
    const old = await server.newAgent('prod-eu');
    const keys = await findSigningKeys(server.store.db, old.id);
    const again = await server.register(await server.newRegistrationToken(old.id));
    const fresh = { id: old.id, token: (again.body as RegisterResponse).token };
    expect(await findSigningKeys(server.store.db, old.id)).toEqual(keys);
    expect((await server.get(fresh, '/api/agent/config')).status).toBe(200);
    expect(await server.get(old, '/api/agent/config')).toMatchObject({ status: 401, body: { error: 'invalid_token' } });
  });

  it('refuses another cluster for a record that is bound to one, and leaves the token usable', async () => {
    await using server = await AgentServer.start();
    const first = await server.newCluster('prod-eu');
    await server.register(first.registrationToken, { cluster_uid: 'uid-1' });
    const token = await server.newRegistrationToken(first.id);
    for (const body of [{ cluster_uid: 'uid-2' }, {}]) {
      expect(await server.register(token, body)).toMatchObject({ status: 403, body: { error: 'cluster_mismatch' } });
    }
    expect((await server.register(token, { cluster_uid: 'uid-1' })).status).toBe(200);
    expect(await auditKinds(server)).toEqual([
      'agent ClusterRegistered',
      'agent ClusterMismatch',
      'agent ClusterRegistered',
    ]);
  });

  it('says of a token that it is unknown, expired, missing or of another kind', async () => {
    await using server = await AgentServer.start();
    const { registrationToken } = await server.newCluster('prod-eu');
    const agent = await server.newAgent('prod-us');
    expect(await server.register('svcreg_nothing')).toMatchObject({ status: 401, body: { error: 'invalid_token' } });
    expect(await server.register(agent.token)).toMatchObject({ status: 401, body: { error: 'invalid_token' } });
    const missing = await server.call({ method: 'POST', url: '/api/agent/register', payload: '{}' });
    expect(missing).toMatchObject({ status: 401, body: { error: 'missing_token' } });
    server.clock.advance(24 * 3_600_000);
    expect(await server.register(registrationToken)).toMatchObject({
      status: 401,
      body: { error: 'registration_token_expired' },
    });
  });

  it('refuses a private or unfit public key with its path, and leaves the token usable', async () => {
    await using server = await AgentServer.start();
    const { registrationToken } = await server.newCluster('prod-eu');
    const rsa = generateKeyPairSync('rsa', { modulusLength: 1024 }).publicKey.export({ format: 'jwk' });
    const { publicJwk } = await generateEncryptionKeypair();
    for (const [key, path] of [
      [{ ...publicJwk, d: 'c2VjcmV0' }, '/public_key/d'],
      [rsa, '/public_key/kty'],
    ] as const) {
      const answer = await server.register(registrationToken, { public_key: key });
      expect(answer).toMatchObject({ status: 400, body: { error: 'constraint_violated', faults: [{ path }] } });
    }
    expect((await server.register(registrationToken, { public_key: publicJwk })).status).toBe(200);
  });

  it('answers a client certificate to a request for one, and refuses another kind of request without spending the token', async () => {
    await using server = await AgentServer.start();
    const { id, registrationToken } = await server.newCluster('prod-eu');
    const { csr } = await newClientKey('another name');
    const [, ...lines] = csr.split('\n');
    const altered = csr.replace(lines[2] ?? '', (lines[2] ?? '').split('').reverse().join(''));
    for (const wrong of ['', 'no PEM', altered, csr.replaceAll(' REQUEST', ''), await newWeakRequest()]) {
      expect(await server.register(registrationToken, { csr: wrong })).toMatchObject({
        status: 400,
        body: { error: 'constraint_violated', faults: [{ path: '/csr' }] },
      });
    }
    const answer = await server.register(registrationToken, { csr });
    const { client_certificate: pem = '', expires_at: expiresAt } = answer.body as RegisterResponse;
    const certificate = new X509Certificate(pem);
    expect([certificate.subject, certificate.subjectAltName]).toEqual([`CN=${id}`, `URI:service://cluster/${id}`]);
    expect(certificate.validToDate.toISOString()).toBe(expiresAt);
    expect(pem.match(/BEGIN CERTIFICATE/g)).toHaveLength(2);
  });

  it('says what is wrong with the token before what is wrong with the rest', async () => {
    await using server = await AgentServer.start();
    const { registrationToken } = await server.newCluster('prod-eu');
    await server.register(registrationToken);
    const answer = await server.register(registrationToken, { csr: 'no PEM', public_key: { kty: 'RSA' } });
    expect(answer).toMatchObject({ status: 401, body: { error: 'registration_token_used' } });
  });

  it('takes a version of one line only, which people are shown', async () => {
    await using server = await AgentServer.start();
    const { registrationToken } = await server.newCluster('prod-eu');
    for (const version of ['', 'a\nb', '\u001b[2J', 'x'.repeat(65)]) {
      const answer = await server.register(registrationToken, { operator_version: version });
      expect(answer).toMatchObject({ status: 400, body: { faults: [{ path: '/operator_version' }] } });
    }
    expect((await server.register(registrationToken, { operator_version: '1.2.3-rc.1 (mine)' })).status).toBe(200);
  });

  it('refuses a disabled cluster', async () => {
    await using server = await AgentServer.start();
    const { registrationToken } = await server.newCluster('prod-eu', { disabled_at: '2026-02-01T00:00:00.000Z' });
    expect(await server.register(registrationToken)).toMatchObject({
      status: 403,
      body: { error: 'cluster_disabled' },
    });
  });
});
