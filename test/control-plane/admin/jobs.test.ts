import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { deriveHmacKey, signRequest } from '../../../src/protocol/hmac.ts';
import { AGENT_MEDIA_TYPE } from '../../../src/protocol/media-type.ts';
import { systemClock } from '../../../src/runtime/clock.ts';
import { Secret } from '../../../src/runtime/secret.ts';
import { INSTALL, RunningControlPlane, type Answer } from '../running-control-plane.ts';

let plane: RunningControlPlane;
let clusterId: string;
let token: string;

beforeAll(async () => {
  plane = await RunningControlPlane.start();
  await plane.putPodinfo();
  clusterId = await plane.newCluster('prod-eu', { connectivityMode: 'pull' });
  const { body: issued } = await plane.call('POST', '/clusters/prod-eu/registration-token');
  const registration = { token: issued['registrationToken'] };
  const { body: agent } = await plane.call('POST', '/api/agent/register', registration, { token: null });
  token = String(agent['token']);
});
afterAll(async () => await plane[Symbol.asyncDispose]());

/** As a client does that knows the protocol alone. */
async function agentPost(path: string, body?: unknown): Promise<Answer> {
  const key = deriveHmacKey(new Secret(token), clusterId);
  const signature = signRequest({ key, method: 'POST', path, body, at: systemClock.now() });
  return await plane.call('POST', path, body, {
    token,
    headers: { 'service-signature': signature, 'content-type': AGENT_MEDIA_TYPE },
  });
}

async function poll(wait: number): Promise<Answer> {
  return await plane.call('GET', `/api/agent/jobs?cluster=${clusterId}&wait=${wait}`, undefined, { token });
}

async function accept(body: object): Promise<string> {
  const answer = await plane.call('POST', '/clusters/prod-eu/intents', body);
  expect(answer.status).toBe(202);
  return String(answer.body['id']);
}

describe('an intent by jobs, over HTTP', () => {
  it('goes from the request to ready, and each step shows in the admin API', async () => {
    const held = poll(30);
    const intentId = await accept({ ...INSTALL, reason: 'first look' });
    const [job] = (await held).body['jobs'];
    expect(job).toMatchObject({ kind: 'apply', idempotencyKey: 'applicationinstance/shop/podinfo@1', intentId });
    const path = `/api/agent/jobs/${job.id}`;
    expect(await plane.until(intentId, 'delivered')).toMatchObject({ receipt: { mode: 'pull', jobId: job.id } });
    expect((await plane.call('GET', `/jobs/${job.id}`)).body).toEqual({
      id: job.id,
      clusterId,
      intentId,
      kind: 'apply',
      state: 'delivered',
      resource: { kind: 'ApplicationInstance', namespace: 'shop', name: 'podinfo' },
      generation: 1,
      deliveryEpoch: 1,
      idempotencyKey: job.idempotencyKey,
      createdAt: job.createdAt,
      expiresAt: job.expiresAt,
      deliveredAt: expect.any(String),
    });
    expect((await agentPost(`${path}/ack`)).status).toBe(204);
    const conditions = [{ type: 'Reconciling', status: 'True', reason: 'HelmReleaseInstalling' }];
    const status = { phase: 'Reconciling', conditions, message: 'installing', timestamp: '2026-11-28T10:00:00Z' };
    expect((await agentPost(`${path}/status`, status)).status).toBe(204);
    expect((await plane.call('GET', `/jobs/${job.id}`)).body).toMatchObject({
      state: 'acknowledged',
      phase: 'Reconciling',
      message: 'installing',
      conditions,
      statusAt: '2026-11-28T10:00:00Z',
      acknowledgedAt: expect.any(String),
    });
    expect((await plane.call('GET', `/intents/${intentId}`)).body['state']).toBe('applied');
    const appliedRef = { apiVersion: 'apps.service.io/v1alpha1', kind: 'ApplicationInstance', name: 'podinfo' };
    expect((await agentPost(`${path}/result`, { outcome: 'succeeded', appliedRef })).status).toBe(204);
    expect((await agentPost(`${path}/result`, { outcome: 'succeeded' })).body['error']).toBe('result_exists');
    const { body: closed } = await plane.call('GET', `/jobs/${job.id}`);
    expect(closed).toMatchObject({
      state: 'closed',
      outcome: 'succeeded',
      phase: 'Ready',
      appliedRef,
      closedAt: expect.any(String),
      lastStatus: { phase: 'Reconciling', message: 'installing', conditions, statusAt: '2026-11-28T10:00:00Z' },
    });
    // It looks like one that is over, and not like one that is under way.
    expect(['message', 'conditions', 'statusAt'].filter((name) => name in closed)).toEqual([]);
    expect((await plane.call('GET', `/intents/${intentId}`)).body).toMatchObject({
      state: 'ready',
      readyAt: expect.any(String),
    });
    expect((await poll(0)).body).toEqual({ jobs: [] });
  });

  it('survives a restart of the control plane with a job in the operator’s hands', async () => {
    const intentId = await accept({ ...INSTALL, name: 'restarted' });
    const [job] = (await poll(30)).body['jobs'];
    expect((await agentPost(`/api/agent/jobs/${job.id}/ack`)).status).toBe(204);
    await plane.restart();
    expect((await poll(0)).body).toEqual({ jobs: [] });
    expect((await agentPost(`/api/agent/jobs/${job.id}/result`, { outcome: 'succeeded' })).status).toBe(204);
    expect((await plane.call('GET', `/intents/${intentId}`)).body['state']).toBe('ready');
  });

  it('lists a cluster’s jobs, the newest first, by page and by state', async () => {
    for (const name of ['one', 'two', 'three']) await plane.until(await accept({ ...INSTALL, name }), 'delivered');
    const open = await plane.call('GET', '/clusters/prod-eu/jobs?state=pending&limit=2');
    const nameOf = ({ resource }: { resource: { name: string } }): string => resource.name;
    expect(open.body['items'].map(nameOf)).toEqual(['three', 'two']);
    const rest = await plane.call('GET', `/clusters/prod-eu/jobs?state=pending&cursor=${open.body['nextCursor']}`);
    expect(rest.body['items'].map(nameOf)).toEqual(['one']);
    expect(rest.body).not.toHaveProperty('nextCursor');
    const closed = await plane.call('GET', '/clusters/prod-eu/jobs?state=closed');
    expect(closed.body['items'].map(nameOf)).toEqual(['restarted', 'podinfo']);
    const unknown = await plane.call('GET', '/clusters/prod-eu/jobs?state=lost');
    expect(unknown).toMatchObject({ status: 400, body: { faults: [{ path: '/state' }] } });
  });

  it('shows another organization no job', async () => {
    const other = plane.addOrganization('other');
    const { body } = await plane.call('GET', '/clusters/prod-eu/jobs?limit=1');
    const [job] = body['items'];
    for (const path of [`/jobs/${job.id}`, `/clusters/${clusterId}/jobs`, '/jobs/job-none']) {
      expect(await plane.call('GET', path, undefined, { token: other })).toMatchObject({
        status: 404,
        body: { error: 'not_found' },
      });
    }
  });

  it('sends intent jobs once the cluster is set to them', async () => {
    const patched = await plane.call('PATCH', '/clusters/prod-eu', { deliverIntents: true });
    expect(patched).toMatchObject({ status: 200, body: { deliverIntents: true } });
    const intentId = await accept({ ...INSTALL, name: 'as-intent' });
    await plane.until(intentId, 'delivered');
    const jobs = (await poll(0)).body['jobs'] as { kind: string; intentId: string; payload: object }[];
    expect(jobs.find((job) => job.intentId === intentId)).toMatchObject({
      kind: 'intent',
      idempotencyKey: expect.stringMatching(/^intent\/sha256-[\w-]{43}$/),
      payload: { intentVersion: 'v1alpha1', id: intentId, action: 'install', generation: 1, requestedBy: 'admin' },
    });
  });
});
