import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { connect } from 'node:tls';
import { describe, expect, it } from 'vitest';
import { revokeAgentCredentials } from '../../../src/control-plane/store/agent-credentials.ts';
import type { RotateResponse } from '../../../src/protocol/credentials.ts';
import { newClientKey, newOtherAuthority } from '../../support/client-key.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import type { Answer } from './agent-server.ts';
import { MtlsStage } from './mtls-stage.ts';

const outcome = ({ status, body }: Answer): string =>
  status === 204 ? '204' : `${status} ${(body as { error: string }).error}`;

describe('client certificates over TLS of our own', () => {
  it('makes a signature unnecessary for the cluster that it names, and for no other', async () => {
    await using stage = await MtlsStage.start();
    const [eu, us] = [await stage.newCertifiedAgent('prod-eu'), await stage.newCertifiedAgent('prod-us')];
    expect(outcome(await stage.postUnsigned(eu, eu.pair))).toBe('204');
    expect(outcome(await stage.postUnsigned(eu))).toBe('401 invalid_signature');
    expect(outcome(await stage.postUnsigned(eu, us.pair))).toBe('403 cluster_mismatch');
    const audit = await stage.server.store.db
      .selectFrom('audit')
      .select(['cluster_id', 'kind', 'reason', 'summary'])
      .orderBy('id', 'desc')
      .executeTakeFirst();
    expect(audit).toEqual({
      cluster_id: eu.id,
      kind: 'ClusterMismatch',
      reason: 'cluster_mismatch',
      summary: `the credential of prod-eu was presented with the client certificate of ${us.id}`,
    });
  });

  it('still asks for the token, whose revocation ends both', async () => {
    await using stage = await MtlsStage.start();
    const agent = await stage.newCertifiedAgent('prod-eu');
    expect(outcome(await stage.postUnsigned({ ...agent, token: 'svcagt_none' }, agent.pair))).toBe('401 invalid_token');
    await stage.server.store.write(async (trx) => await revokeAgentCredentials(trx, agent.id, 'now'));
    expect(outcome(await stage.postUnsigned(agent, agent.pair))).toBe('401 invalid_token');
  });

  it('counts a certificate that nobody known signed, or that has expired, as none', async () => {
    await using stage = await MtlsStage.start();
    const agent = await stage.newCertifiedAgent('prod-eu');
    const other = await newOtherAuthority(stage.server.clock.now());
    const forged = await other.certify(agent.id);
    expect(outcome(await stage.postUnsigned(agent, { cert: forged.certificate, key: forged.key }))).toBe(
      '401 invalid_signature',
    );
    await stage.server.store.write(async (trx) => {
      await trx.updateTable('agent_credentials').set({ expires_at: '2027-01-01T00:00:00.000Z' }).execute();
    });
    stage.server.clock.advance(30 * 24 * 3_600_000);
    expect(outcome(await stage.postUnsigned(agent, agent.pair))).toBe('401 invalid_signature');
  });

  it('takes certificates of a configured authority that name the cluster, and ignores those that name something else', async () => {
    const other = await newOtherAuthority(new ManualClock().now());
    await using stage = await MtlsStage.start({ authorities: [other.certificate] });
    const agent = await stage.newCertifiedAgent('prod-eu');
    const own = await other.certify(agent.id);
    const person = await other.certify('alice');
    const foreign = await other.certify('c-0123456789abcdef');
    const answers = [own, person, foreign].map(async ({ certificate, key }) =>
      outcome(await stage.postUnsigned(agent, { cert: certificate, key })),
    );
    expect(await Promise.all(answers)).toEqual(['204', '401 invalid_signature', '403 cluster_mismatch']);
  });

  it('knows the certificate again when a TLS session is resumed', async () => {
    await using stage = await MtlsStage.start();
    const agent = await stage.newCertifiedAgent('prod-eu');
    const options = { host: '127.0.0.1', port: stage.port, ca: stage.root, ...agent.pair };
    const first = connect(options);
    const [session] = (await once(first, 'session')) as [Buffer];
    first.end();
    const resumed = connect({ ...options, session });
    await once(resumed, 'secureConnect');
    expect(resumed.isSessionReused()).toBe(true);
    const head = `POST /api/agent/events HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${agent.token}\r\n`;
    resumed.write(
      `${head}Content-Type: application/json\r\nContent-Length: 13\r\nConnection: close\r\n\r\n{"events":[]}`,
    );
    const [answer] = (await once(resumed, 'data')) as [Buffer];
    expect(answer.toString()).toMatch(/^HTTP\/1\.1 204 /);
    resumed.destroy();
  });

  it('is the only way to write, and to rotate, for a cluster that must present one: then a stolen token is worth little', async () => {
    await using stage = await MtlsStage.start();
    const agent = await stage.newCertifiedAgent('prod-eu');
    await stage.server.store.write(async (trx) => {
      await trx.updateTable('clusters').set({ require_client_certificate: 1 }).execute();
    });
    for (const path of ['/api/agent/events', '/api/agent/credentials/rotate', '/api/agent/jobs/job-1/ack']) {
      expect(outcome(await stage.server.post(agent, path, { events: [] }))).toBe('403 forbidden');
    }
    expect((await stage.server.get(agent, '/api/agent/config')).status).toBe(200);
    expect(outcome(await stage.postUnsigned(agent, agent.pair))).toBe('204');
  });

  it('issues with a rotation too: CN and URI of the cluster, for clients, until the credential ends', async () => {
    await using stage = await MtlsStage.start();
    const agent = await stage.newCertifiedAgent('prod-eu');
    stage.server.clock.advance(3_600_000);
    const { csr } = await newClientKey('CN of somebody else');
    const answer = await stage.server.post(agent, '/api/agent/credentials/rotate', { csr });
    const { client_certificate: pem = '', expires_at: expiresAt } = answer.body as RotateResponse;
    const certificate = new X509Certificate(pem);
    expect(certificate.subject).toBe(`CN=${agent.id}`);
    expect(certificate.subjectAltName).toBe(`URI:service://cluster/${agent.id}`);
    expect(certificate.validToDate.toISOString()).toBe(expiresAt);
    expect((certificate as unknown as { keyUsage: string[] }).keyUsage).toEqual(['1.3.6.1.5.5.7.3.2']);
    const [, issuer = ''] = pem.split(/(?=-----BEGIN)/);
    expect(certificate.verify(new X509Certificate(issuer).publicKey)).toBe(true);
  });
});
