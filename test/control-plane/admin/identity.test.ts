import { describe, expect, it } from 'vitest';
import { generateEncryptionKeypair } from '../../../src/protocol/jwe.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { RunningControlPlane, type Answer } from '../running-control-plane.ts';
import { registerAgent, registerWith } from './running-agent.ts';

const CONFIG = '/api/agent/config';
const DAY = 86_400_000;

const refusal = ({ status, body }: Answer): string => `${status} ${String(body['error'])}`;

function condition(cluster: Answer['body'], type: string): unknown {
  return cluster['conditions'].find((one: { type: string }) => one.type === type);
}

async function auditOf(plane: RunningControlPlane, cluster: string, source: string): Promise<string[]> {
  const { body } = await plane.call('GET', `/audit?cluster=${cluster}&source=${source}`);
  return body['items'].map(({ kind, actor }: { kind: string; actor?: string }) => `${kind} ${actor ?? '-'}`).reverse();
}

describe('POST /clusters/{id}/rotate', () => {
  it('makes a rotation due at once, which the operator is told at its next call, and audits who asked', async () => {
    const clock = new ManualClock();
    await using plane = await RunningControlPlane.start(clock);
    const id = await plane.newCluster('prod-eu');
    const agent = await registerAgent(plane, id);
    const before = await agent.get(CONFIG);
    expect(before.body['credential'].rotate_after > clock.now().toISOString()).toBe(true);
    clock.advance(1000);
    const answer = await plane.call('POST', '/clusters/prod-eu/rotate');
    expect(answer.body['credential']).toEqual({
      expiresAt: '2026-03-31T10:00:00.000Z',
      rotateAfter: '2026-03-01T10:00:01.000Z',
      certified: false,
    });
    const after = await agent.get(CONFIG);
    expect(Number(after.headers.get('service-config-revision'))).toBe(
      Number(before.headers.get('service-config-revision')) + 1,
    );
    expect(after.body['credential'].rotate_after).toBe('2026-03-01T10:00:01.000Z');
    expect(await auditOf(plane, id, 'user')).toEqual([
      'ClusterCreated admin',
      'RegistrationTokenIssued admin',
      'CredentialRotate admin',
    ]);
  });

  it('says of a cluster without a credential what to do instead', async () => {
    await using plane = await RunningControlPlane.start();
    await plane.newCluster('prod-eu');
    const answer = await plane.call('POST', '/clusters/prod-eu/rotate');
    expect(refusal(answer)).toBe('409 conflict');
    expect(answer.body['message']).toContain('servicectl clusters recovery-command prod-eu');
  });
});

describe('the condition Expired', () => {
  it('A8: shows a cluster that was away for 31 days, which one token brings back with its history', async () => {
    const clock = new ManualClock();
    await using plane = await RunningControlPlane.start(clock);
    const id = await plane.newCluster('prod-eu');
    await plane.putPodinfo();
    const agent = await registerAgent(plane, id, { cluster_uid: 'uid-1' });
    await agent.get(CONFIG);
    const intent = {
      action: 'install',
      namespace: 'shop',
      name: 'podinfo',
      catalogEntry: 'podinfo',
      chartVersion: '6.5.0',
    };
    const accepted = await plane.call('POST', '/clusters/prod-eu/intents', intent);
    clock.advance(31 * DAY);
    expect(refusal(await agent.get(CONFIG))).toBe('401 expired_token');
    const { body: away } = await plane.call('GET', '/clusters/prod-eu');
    expect(condition(away, 'Expired')).toMatchObject({
      status: 'True',
      reason: 'CredentialExpired',
      lastTransitionTime: '2026-03-31T10:00:00.000Z',
      message: expect.stringContaining('servicectl clusters recovery-command prod-eu') as string,
    });
    const back = await registerAgent(plane, id, { cluster_uid: 'uid-1' });
    expect((await back.get(CONFIG)).status).toBe(200);
    const { body: again } = await plane.call('GET', '/clusters/prod-eu');
    expect(condition(again, 'Expired')).toMatchObject({ status: 'False', reason: 'CredentialValid' });
    expect(again).toMatchObject({ id, status: 'Active', clusterUid: 'uid-1' });
    const { body: intents } = await plane.call('GET', '/clusters/prod-eu/intents');
    expect(intents['items'].map((one: { id: string }) => one.id)).toEqual([accepted.body['id']]);
    expect(await auditOf(plane, id, 'agent')).toEqual(['ClusterRegistered -', 'ClusterRegistered -']);
  });

  it('is not held off by a credential that nobody used: the answer may have been lost, or be a stranger’s', async () => {
    const clock = new ManualClock();
    await using plane = await RunningControlPlane.start(clock);
    const { publicJwk } = await generateEncryptionKeypair();
    const agent = await registerAgent(plane, await plane.newCluster('prod-eu'), { public_key: publicJwk });
    await agent.get(CONFIG);
    clock.advance(29 * DAY);
    const asked = await plane.call('POST', '/api/agent/credentials/recover', { cluster_id: agent.id }, { token: null });
    expect(asked.status).toBe(200);
    clock.advance(2 * DAY);
    const { body } = await plane.call('GET', '/clusters/prod-eu');
    expect(condition(body, 'Expired')).toMatchObject({ status: 'True' });
  });
});

describe('POST /clusters/{id}/revoke', () => {
  it('ends the credential and forbids its recovery until the cluster has registered again', async () => {
    await using plane = await RunningControlPlane.start();
    const { publicJwk } = await generateEncryptionKeypair();
    const id = await plane.newCluster('prod-eu');
    const agent = await registerAgent(plane, id, { public_key: publicJwk });
    const recover = async (): Promise<Answer> =>
      await plane.call('POST', '/api/agent/credentials/recover', { cluster_id: id }, { token: null });
    const { body } = await plane.call('POST', '/clusters/prod-eu/revoke');
    expect(condition(body, 'Expired')).toMatchObject({ status: 'False', reason: 'CredentialRevoked' });
    expect([refusal(await agent.get(CONFIG)), refusal(await recover())]).toEqual([
      '401 invalid_token',
      '403 forbidden',
    ]);
    await registerAgent(plane, id);
    expect((await recover()).status).toBe(200);
  });
});

describe('POST /clusters/{id}/rebind', () => {
  it('lets another cluster take the record, once an admin said so, and shuts the one before out with its key', async () => {
    await using plane = await RunningControlPlane.start();
    const { publicJwk } = await generateEncryptionKeypair();
    const id = await plane.newCluster('prod-eu');
    const before = await registerAgent(plane, id, { cluster_uid: 'uid-1', public_key: publicJwk });
    const stale = await plane.call('POST', '/clusters/prod-eu/registration-token');
    const { status, body } = await plane.call('POST', '/clusters/prod-eu/rebind', { clusterUid: 'uid-2' });
    expect([status, body['clusterUid']]).toEqual([200, 'uid-2']);
    expect(refusal(await before.get(CONFIG))).toBe('401 invalid_token');
    const again = await registerWith(plane, stale.body['registrationToken'], { cluster_uid: 'uid-1' });
    expect(refusal(again)).toBe('401 registration_token_expired');
    const fresh = await plane.call('POST', '/clusters/prod-eu/registration-token');
    const token = String(fresh.body['registrationToken']);
    expect(refusal(await registerWith(plane, token, { cluster_uid: 'uid-1' }))).toBe('403 cluster_mismatch');
    expect((await registerWith(plane, token, { cluster_uid: 'uid-2' })).status).toBe(200);
    expect(plane.query('SELECT public_key FROM clusters')).toEqual([{ public_key: null }]);
    expect((await auditOf(plane, id, 'user')).filter((line) => line.startsWith('ClusterRebound'))).toHaveLength(1);
  });

  it('takes whichever cluster registers next where none is named', async () => {
    await using plane = await RunningControlPlane.start();
    const id = await plane.newCluster('prod-eu');
    await registerAgent(plane, id, { cluster_uid: 'uid-1' });
    const { body } = await plane.call('POST', '/clusters/prod-eu/rebind');
    expect(body['clusterUid']).toBeUndefined();
    const other = await registerAgent(plane, id, { cluster_uid: 'uid-3' });
    expect((await other.get(CONFIG)).status).toBe(200);
    expect((await plane.call('GET', '/clusters/prod-eu')).body['clusterUid']).toBe('uid-3');
  });
});
