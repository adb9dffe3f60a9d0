import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connectionConditions } from '../../../src/control-plane/http/admin/connection-condition.ts';
import { DEFAULT_INTERVALS } from '../../../src/protocol/agent-config.ts';
import { deriveHmacKey, signRequest } from '../../../src/protocol/hmac.ts';
import { systemClock } from '../../../src/runtime/clock.ts';
import { Secret } from '../../../src/runtime/secret.ts';
import { RunningControlPlane } from '../running-control-plane.ts';

let plane: RunningControlPlane;
let clusterId: string;
let token: string;

const instance = {
  apiVersion: 'apps.service.io/v1alpha1',
  kind: 'ApplicationInstance',
  namespace: 'shop',
  name: 'podinfo',
  uid: 'uid-1',
  generation: 2,
};
const cluster = { apiVersion: 'ops.service.io/v1alpha1', kind: 'Cluster', name: 'prod-eu', uid: 'uid-c' };

const operation = { ...instance, apiVersion: 'ops.service.io/v1alpha1', kind: 'Operation', name: 'migrate' };
const running = {
  ...transition(operation, 0, { type: 'Running', status: 'True', reason: 'JobRunning' }),
  eventKey: 'operation/uid-1/Running',
  kind: 'OperationRunning',
  sequence: undefined,
  source: { mode: 'gitops', epoch: 1, generation: 1, intentId: 'int-of-migrate' },
};

function transition(resourceRef: Record<string, unknown>, counter: number, condition: Record<string, string>) {
  const { type, status } = condition;
  return {
    eventKey: `condition/${String(resourceRef['uid'])}/${type}/${status}@${counter}`,
    kind: 'ConditionTransition',
    resourceRef,
    conditions: [{ lastTransitionTime: '2026-11-28T10:00:00Z', message: 'm', ...condition }],
    timestamp: '2026-11-28T10:00:01Z',
    sequence: `1.${counter}`,
    source: { mode: 'gitops', epoch: 1, generation: 1 },
  };
}

async function report(events: readonly unknown[]): Promise<void> {
  const body = { cluster_id: clusterId, events };
  const path = '/api/agent/events';
  const key = deriveHmacKey(new Secret(token), clusterId);
  const signature = signRequest({ key, method: 'POST', path, body, at: systemClock.now() });
  const headers = { 'service-signature': signature };
  const answer = await plane.call('POST', path, body, { token, headers });
  if (answer.status !== 204) throw new Error(JSON.stringify(answer.body));
}

beforeAll(async () => {
  plane = await RunningControlPlane.start();
  clusterId = await plane.newCluster('prod-eu');
  const { body: issued } = await plane.call('POST', '/clusters/prod-eu/registration-token');
  const { body: agent } = await plane.call(
    'POST',
    '/api/agent/register',
    { token: issued['registrationToken'] },
    { token: null },
  );
  token = String(agent['token']);
  await report([
    transition(instance, 1, { type: 'Reconciling', status: 'True', reason: 'HelmReleaseInstalling' }),
    transition(instance, 2, { type: 'Ready', status: 'True', reason: 'HelmReleaseReady' }),
    transition(instance, 3, { type: 'Reconciling', status: 'False', reason: 'Stable' }),
    transition(cluster, 4, { type: 'ControllersHealthy', status: 'True', reason: 'Healthy' }),
    transition(cluster, 5, { type: 'Connected', status: 'True', reason: 'Polling' }),
  ]);
});
afterAll(async () => await plane[Symbol.asyncDispose]());

describe('what a cluster reported', () => {
  it('is listed as it came, the newest first', async () => {
    const { body } = await plane.call('GET', '/clusters/prod-eu/events?limit=2');
    expect(body['items']).toMatchObject([{ sequence: '1.5' }, { sequence: '1.4' }]);
    const next = await plane.call('GET', `/clusters/prod-eu/events?cursor=${body['nextCursor']}`);
    expect(next.body['items'][0]).toEqual({
      eventKey: 'condition/uid-1/Reconciling/False@3',
      kind: 'ConditionTransition',
      resourceRef: instance,
      conditions: [
        {
          type: 'Reconciling',
          status: 'False',
          reason: 'Stable',
          message: 'm',
          lastTransitionTime: '2026-11-28T10:00:00Z',
        },
      ],
      timestamp: '2026-11-28T10:00:01Z',
      sequence: '1.3',
      source: { mode: 'gitops', epoch: 1, generation: 1 },
      receivedAt: expect.any(String),
    });
    expect(next.body['items']).toHaveLength(3);
  });

  it('is folded into the current conditions of each resource', async () => {
    const first = await plane.call('GET', '/clusters/prod-eu/conditions?limit=1');
    expect(first.body['items']).toEqual([
      {
        resourceRef: {
          apiVersion: instance.apiVersion,
          kind: instance.kind,
          namespace: 'shop',
          name: 'podinfo',
          uid: 'uid-1',
        },
        conditions: [
          expect.objectContaining({ type: 'Ready', status: 'True', reason: 'HelmReleaseReady', observedGeneration: 2 }),
          expect.objectContaining({ type: 'Reconciling', status: 'False', reason: 'Stable' }),
        ],
        source: { mode: 'gitops', epoch: 1, generation: 1 },
        updatedAt: expect.any(String),
      },
    ]);
    const next = await plane.call('GET', `/clusters/prod-eu/conditions?cursor=${first.body['nextCursor']}`);
    expect(next.body['items']).toMatchObject([{ resourceRef: { kind: 'Cluster', name: 'prod-eu' } }]);
    expect(next.body['nextCursor']).toBeUndefined();
  });

  it("shows the cluster's own conditions, but its connection as the control plane sees it", async () => {
    const { body } = await plane.call('GET', '/clusters/prod-eu');
    expect(body['conditions']).toEqual([
      expect.objectContaining({ type: 'ControllersHealthy', status: 'True', reason: 'Healthy' }),
      expect.objectContaining({ type: 'Connected', status: 'True', reason: 'WithinHeartbeat' }),
      expect.objectContaining({ type: 'Disconnected', status: 'False', reason: 'WithinHeartbeat' }),
      expect.objectContaining({ type: 'Expired', status: 'False' }),
    ]);
  });

  it('is in the audit apart from what people did', async () => {
    const agent = await plane.call('GET', '/audit?cluster=prod-eu&source=agent');
    expect(agent.body['items'].map(({ kind, source }: Record<string, string>) => [kind, source])).toEqual(
      expect.arrayContaining([['ConditionTransition', 'agent']]),
    );
    const user = await plane.call('GET', '/audit?source=user');
    expect(user.body['items'].every(({ actor }: Record<string, string>) => actor === 'admin')).toBe(true);
    const paged = await plane.call('GET', '/audit?limit=1');
    const next = await plane.call('GET', `/audit?limit=1&cursor=${paged.body['nextCursor']}`);
    expect(next.body['items'][0].id).toBeLessThan(paged.body['items'][0].id);
  });

  it('is in the audit with what it is about, and of which intent', async () => {
    await report([running]);
    const { body } = await plane.call('GET', '/audit?kind=OperationRunning');
    expect(body['items']).toEqual([
      expect.objectContaining({
        summary: expect.stringContaining('Running'),
        resourceRef: { kind: 'Operation', namespace: 'shop', name: 'migrate' },
        intentId: 'int-of-migrate',
      }),
    ]);
    const { body: people } = await plane.call('GET', '/audit?source=user&limit=1');
    expect(people['items'][0]).not.toHaveProperty('resourceRef');
  });

  it.for([
    ['source=robot', '/source'],
    ['cursor=x', '/cursor'],
    ['from=yesterday', '/from'],
  ])('refuses /audit?%s', async ([query, path]) => {
    expect(await plane.call('GET', `/audit?${query}`)).toMatchObject({ status: 400, body: { faults: [{ path }] } });
  });
});

describe('connectionConditions', () => {
  const now = new Date('2026-11-28T10:10:00.000Z');
  const record = {
    intervals: JSON.stringify(DEFAULT_INTERVALS),
    registered_at: null,
    disconnected_at: null,
    disabled_at: null,
    revoked_at: null,
  };
  const longAgo = new Date(0);

  it.for<[string, string | null, readonly unknown[]]>([
    [
      'is disconnected before any operator registered',
      null,
      [
        { type: 'Connected', status: 'False', reason: 'NotRegistered', message: expect.any(String) },
        { type: 'Disconnected', status: 'True', reason: 'NotRegistered', message: expect.any(String) },
      ],
    ],
    [
      'is connected up to three heartbeats after the last contact',
      '2026-11-28T10:07:00.000Z',
      [
        {
          type: 'Connected',
          status: 'True',
          reason: 'WithinHeartbeat',
          message: 'last contact at 2026-11-28T10:07:00.000Z',
        },
        {
          type: 'Disconnected',
          status: 'False',
          reason: 'WithinHeartbeat',
          message: 'last contact at 2026-11-28T10:07:00.000Z',
        },
      ],
    ],
    [
      'is disconnected from then on',
      '2026-11-28T10:06:59.999Z',
      ['Connected', 'Disconnected'].map((type) => ({
        type,
        status: type === 'Connected' ? 'False' : 'True',
        reason: 'NoContact',
        message: 'last contact at 2026-11-28T10:06:59.999Z',
        lastTransitionTime: '2026-11-28T10:09:59.999Z',
      })),
    ],
  ])('%s', ([, lastContactAt, conditions]) => {
    expect(connectionConditions({ ...record, last_contact_at: lastContactAt }, now, longAgo)).toEqual(conditions);
  });

  it('is connected while the control plane itself has not listened for three heartbeats, unless it was noted before', () => {
    const silent = { ...record, last_contact_at: '2026-11-28T09:00:00.000Z' };
    const since = new Date('2026-11-28T10:09:00.000Z');
    expect(connectionConditions(silent, now, since)[0]).toMatchObject({ type: 'Connected', status: 'True' });
    const noted = { ...silent, disconnected_at: '2026-11-28T09:03:10.000Z' };
    expect(connectionConditions(noted, now, since)[1]).toMatchObject({
      type: 'Disconnected',
      status: 'True',
      lastTransitionTime: '2026-11-28T09:03:10.000Z',
    });
  });

  it('is disconnected at once where the control plane itself shuts the operator out, whatever its last contact was', () => {
    const heard = { ...record, last_contact_at: '2026-11-28T10:09:50.000Z' };
    const at = '2026-11-28T10:09:55.000Z';
    const shown = (cluster: Parameters<typeof connectionConditions>[0]): string[] =>
      connectionConditions(cluster, now, longAgo).map(
        ({ type, status, reason, lastTransitionTime }) => `${type} ${status} ${reason} ${lastTransitionTime}`,
      );
    expect(shown({ ...heard, disabled_at: at })).toEqual([
      `Connected False ClusterDisabled ${at}`,
      `Disconnected True ClusterDisabled ${at}`,
    ]);
    expect(shown({ ...heard, revoked_at: at })).toEqual([
      `Connected False CredentialRevoked ${at}`,
      `Disconnected True CredentialRevoked ${at}`,
    ]);
  });
});
