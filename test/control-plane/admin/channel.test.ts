import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { deriveHmacKey, signRequest } from '../../../src/protocol/hmac.ts';
import { systemClock } from '../../../src/runtime/clock.ts';
import { Secret } from '../../../src/runtime/secret.ts';
import { CLUSTER, INSTANCE, outcome } from '../channel/outcome-event.ts';
import { WebhookReceiver } from '../channel/webhook-receiver.ts';
import { RunningControlPlane } from '../running-control-plane.ts';

let plane: RunningControlPlane;
let receiver: WebhookReceiver;
let theirs: string;
let clusterId: string;
let agentToken: string;

async function report(...events: readonly object[]): Promise<void> {
  const path = '/api/agent/events';
  const body = { cluster_id: clusterId, events };
  const key = deriveHmacKey(new Secret(agentToken), clusterId);
  const signature = signRequest({ key, method: 'POST', path, body, at: systemClock.now() });
  const answer = await plane.call('POST', path, body, {
    token: agentToken,
    headers: { 'service-signature': signature },
  });
  if (answer.status !== 204) throw new Error(JSON.stringify(answer.body));
}

beforeAll(async () => {
  plane = await RunningControlPlane.start(systemClock, { SERVICE_CHANNEL_ALLOW_PRIVATE: 'true' });
  receiver = await WebhookReceiver.start();
  theirs = plane.addOrganization('other');
  clusterId = await plane.newCluster('prod-eu');
  await plane.newCluster('prod-us');
  const { body: issued } = await plane.call('POST', '/clusters/prod-eu/registration-token');
  const { body: agent } = await plane.call(
    'POST',
    '/api/agent/register',
    { token: issued['registrationToken'] },
    { token: null },
  );
  agentToken = String(agent['token']);
});
afterAll(async () => {
  await plane[Symbol.asyncDispose]();
  await receiver[Symbol.asyncDispose]();
});

describe('GET /channel', () => {
  it('lists the outcomes of the organization, the newest first, by cluster, category and reason', async () => {
    await report(
      outcome({ reason: 'HelmReleaseReady' }),
      outcome(
        { type: 'Succeeded', reason: 'VeleroBackupCompleted' },
        { resourceRef: { ...INSTANCE, kind: 'Operation' } },
      ),
      outcome({ type: 'Authenticated', reason: 'CredentialRotated' }, { resourceRef: CLUSTER }),
    );
    const all = await plane.call('GET', '/channel');
    expect(all.body['items']).toMatchObject([
      { category: 'credential', reason: 'CredentialRotated', text: 'prod-eu: credential rotated', clusterId },
      { category: 'backup', text: 'prod-eu: shop/podinfo backup completed' },
      {
        category: 'deploy',
        text: 'prod-eu: shop/podinfo is ready',
        resourceRef: INSTANCE,
        id: expect.stringMatching(/^msg_[A-Za-z0-9_-]{24}$/),
        at: expect.stringMatching(/Z$/),
      },
    ]);
    const reasons = async (query: string): Promise<string[]> =>
      (await plane.call('GET', `/channel?${query}`)).body['items'].map(({ reason }: { reason: string }) => reason);
    expect(await reasons('category=backup')).toEqual(['VeleroBackupCompleted']);
    expect(await reasons('reason=HelmReleaseReady&cluster=prod-eu')).toEqual(['HelmReleaseReady']);
    expect(await reasons('cluster=prod-us')).toEqual([]);
    const first = await plane.call('GET', '/channel?limit=2');
    expect(await reasons(`limit=2&cursor=${first.body['nextCursor']}`)).toEqual(['HelmReleaseReady']);
    expect((await plane.call('GET', '/channel', undefined, { token: theirs })).body['items']).toEqual([]);
  });

  it.for([
    ['category=weather', '/category'],
    ['cursor=x', '/cursor'],
    ['from=yesterday', '/from'],
  ])('refuses ?%s', async ([query, path]) => {
    expect(await plane.call('GET', `/channel?${query}`)).toMatchObject({ status: 400, body: { faults: [{ path }] } });
  });
});

describe('/channel/webhooks', () => {
  it('shows the key once and of the address only its host', async () => {
    const url = receiver.url;
    const added = await plane.call('POST', '/channel/webhooks', { name: 'chat', url });
    expect(added).toMatchObject({
      status: 201,
      body: { secret: expect.stringMatching(/^whsec_[A-Za-z0-9+/]{43}=$/), webhook: { name: 'chat', waiting: 0 } },
    });
    expect(added.body['webhook'].host).toBe(`127.0.0.1:${receiver.port}`);
    const listed = await plane.call('GET', '/channel/webhooks');
    expect(listed.body['items']).toEqual([added.body['webhook']]);
    const everything = JSON.stringify([
      added.body['webhook'],
      listed.body,
      (await plane.call('GET', '/audit')).body,
      plane.query('SELECT * FROM channel_webhooks'),
      plane.query('SELECT * FROM audit'),
    ]);
    expect(everything).not.toContain('secret-path');
    expect(everything).not.toContain(String(added.body['secret']).slice(6));
  });

  it('says what came back of a test', async () => {
    expect(await plane.call('POST', '/channel/webhooks/chat/test')).toMatchObject({
      status: 200,
      body: { taken: true, answer: 'answered 200' },
    });
    expect(receiver.received.at(-1)?.headers['webhook-id']).toMatch(/^msg_test_/);
    receiver.replies.push({ status: 403, body: 'invalid_token' });
    expect((await plane.call('POST', '/channel/webhooks/chat/test')).body).toEqual({
      taken: false,
      answer: 'answered 403',
    });
  });

  it('is sent what events tell, without anybody asking', async () => {
    const before = receiver.texts.length;
    await report(outcome({ reason: 'HelmReleaseUpgraded', message: '<!channel> & @here' }));
    await expect.poll(() => receiver.texts.length, { timeout: 10_000, interval: 10 }).toBe(before + 1);
    expect(receiver.texts.at(-1)).toBe('prod-eu: shop/podinfo was upgraded: &lt;!channel&gt; &amp; @\u200bhere');
    const { metadata } = JSON.parse(receiver.received.at(-1)?.body ?? '') as {
      metadata: { event_payload: Record<string, unknown> };
    };
    expect(metadata).toMatchObject({
      event_type: 'service_channel_message',
      event_payload: { cluster_id: clusterId, kind: 'ApplicationInstance', namespace: 'shop', name: 'podinfo' },
    });
    expect(receiver.received.at(-1)?.headers['webhook-id']).toBe(metadata.event_payload['id']);
  });

  it.for([
    [{ name: 'chat', url: 'https://chat.example.com/x' }, 409, '/name'],
    [{ name: 'other', url: 'http://chat.example.com/x' }, 400, '/url'],
    [{ name: 'other', url: 'https://me:secret-word@chat.example.com/x' }, 400, '/url'],
    [{ name: 'Not a name', url: 'https://chat.example.com/x' }, 400, '/name'],
    [{ name: 'other' }, 400, '/url'],
    [{ name: 'other', url: 'https://chat.example.com/x', more: 1 }, 400, '/more'],
  ] as const)('refuses %o', async ([body, status, path]) => {
    const answer = await plane.call('POST', '/channel/webhooks', body);
    expect(answer).toMatchObject({ status, body: { faults: [{ path }] } });
    expect(JSON.stringify(answer.body)).not.toContain('secret-word');
  });

  it('is one organization’s own', async () => {
    const options = { token: theirs };
    expect((await plane.call('GET', '/channel/webhooks', undefined, options)).body['items']).toEqual([]);
    for (const [method, path] of [
      ['DELETE', '/channel/webhooks/chat'],
      ['POST', '/channel/webhooks/chat/test'],
      ['POST', '/channel/webhooks/chat/enable'],
    ] as const) {
      expect((await plane.call(method, path, undefined, options)).status).toBe(404);
    }
  });

  it('has twenty of them at the most', async () => {
    const options = { token: theirs };
    const url = 'https://chat.example.com/x';
    for (let n = 0; n < 20; n += 1) {
      expect((await plane.call('POST', '/channel/webhooks', { name: `chat-${n}`, url }, options)).status).toBe(201);
    }
    const answer = await plane.call('POST', '/channel/webhooks', { name: 'one-more', url }, options);
    expect(answer).toMatchObject({ status: 409, body: { error: 'conflict' } });
  });

  it('goes with what waits for it', async () => {
    expect((await plane.call('DELETE', '/channel/webhooks/chat')).status).toBe(204);
    expect((await plane.call('DELETE', '/channel/webhooks/chat')).status).toBe(404);
    expect((await plane.call('GET', '/channel/webhooks')).body['items']).toEqual([]);
  });
});
