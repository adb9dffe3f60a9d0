import { describe, expect, it } from 'vitest';
import type { KubeObject } from '../../src/resources/kube-object.ts';
import { CLUSTER_ID, FakeControlPlane } from './fake-control-plane.ts';
import { decoded, NAMESPACE, OperatorWorld } from './operator-world.ts';

const FRESH =
  'Issue a fresh token for this cluster (servicectl clusters registration-token <cluster>) and put it into the Secret service-operator-registration under the key token, or set it as spec.registration.token.';

describe('registration', () => {
  it('makes the keypair, offers the token with it, and keeps the credential in a Secret of the Cluster', async () => {
    await using plane = await FakeControlPlane.start();
    await using world = await OperatorWorld.start();
    plane.accounts.set('svcreg_a', 'fresh');
    await world.start();
    await world.join(plane.url, 'svcreg_a');
    const authenticated = await world.until('Authenticated', 'True', 'Registered');
    const cluster = await world.read();
    expect(authenticated).toMatchObject({
      observedGeneration: 1,
      message: 'The control plane accepts the credential.',
    });

    const credentials = await world.secret('service-operator-credentials');
    const owner = {
      apiVersion: 'ops.service.io/v1alpha1',
      kind: 'Cluster',
      name: 'eu',
      uid: cluster.metadata.uid,
    };
    expect({ token: decoded(credentials, 'token'), ca: decoded(credentials, 'ca.crt') }).toEqual({
      token: 'svcagt_1',
      ca: '',
    });
    expect(credentials?.metadata).toMatchObject({
      labels: { 'app.service.io/cluster-id': CLUSTER_ID },
      annotations: { 'ops.service.io/expires-at': '2126-12-28T00:00:00.000Z' },
      ownerReferences: [owner],
    });
    const keypair = await world.secret('service-operator-keypair');
    const current = JSON.parse(decoded(keypair, 'current')) as Record<string, string>;
    expect(keypair?.metadata.ownerReferences).toEqual([owner]);

    const kubeSystem = await world.cluster.api.get<KubeObject>({
      apiVersion: 'v1',
      kind: 'Namespace',
      name: 'kube-system',
    });
    const register = plane.requests.find(({ path }) => path === '/api/agent/register');
    const { d, ...publicKey } = current;
    expect(d).toBeDefined();
    expect(register?.body).toEqual({
      token: 'svcreg_a',
      cluster_uid: kubeSystem?.metadata.uid,
      public_key: publicKey,
      operator_version: '0.2.0',
    });
    await expect
      .poll(async () => (await world.read()).status?.allowedNamespaces, { timeout: 30_000 })
      .toEqual(['shop']);
    const events = await world.cluster.api.list<KubeObject>(
      { apiVersion: 'v1', kind: 'Event' },
      { namespace: NAMESPACE },
    );
    expect(events.items.map((event) => [event['reason'], event['message']])).toContainEqual([
      'Registered',
      `registered with ${plane.url} as ${CLUSTER_ID}`,
    ]);
  });

  it('says that there is nothing to register with, and goes on when there is', async () => {
    await using plane = await FakeControlPlane.start();
    await using world = await OperatorWorld.start();
    await world.start();
    await world.join(plane.url);
    const condition = await world.until('Authenticated', 'False', 'NotRegistered');
    expect(condition.message).toBe(
      'There is no credential and no registration token. Run what `servicectl clusters install-command eu` prints, or put a registration token into the Secret service-system/service-operator-registration under the key token.',
    );
    plane.accounts.set('svcreg_late', 'fresh');
    await world.setSpec({ registration: { token: 'svcreg_late' } });
    await world.until('Authenticated', 'True', 'Registered');
  });

  it.each([
    [
      'used',
      `The registration token has been used already: by another cluster, or by this one if it was stopped before it could save its credential, or if its credential Secret was deleted since. ${FRESH}`,
    ],
    ['expired', `The registration token has expired. ${FRESH}`],
    [
      undefined,
      `The control plane does not know the registration token; look whether it was copied whole and for this control plane. ${FRESH}`,
    ],
  ] as const)('stops at a token that is %s, offers it once, and goes on with a fresh one', async (state, message) => {
    await using plane = await FakeControlPlane.start();
    await using world = await OperatorWorld.start();
    if (state !== undefined) plane.accounts.set('svcreg_bad', state);
    await world.start();
    await world.join(plane.url, 'svcreg_bad');
    expect((await world.until('Authenticated', 'False', 'RegistrationRefused')).message).toBe(message);
    // The status write above is itself a change of the resource: it must not make the operator offer the token again.
    await world.annotate({ note: 'touched' });
    plane.accounts.set('svcreg_good', 'fresh');
    expect(plane.count('/api/agent/register')).toBe(1);
    await world.setSpec({ registration: { token: 'svcreg_good' } });
    await world.until('Authenticated', 'True', 'Registered');
    expect(plane.count('/api/agent/register')).toBe(2);
  });

  it('does not lose the credential when the Secret cannot be written at first', async () => {
    await using plane = await FakeControlPlane.start();
    await using world = await OperatorWorld.start();
    plane.accounts.set('svcreg_a', 'fresh');
    world.cluster.sandbox.faults.add({
      match: ({ method, path }) => method === 'PATCH' && path.endsWith('/secrets/service-operator-credentials'),
      times: 1,
      respond: { status: 403, body: '{"kind":"Status","code":403,"reason":"Forbidden","message":"not now"}' },
    });
    await world.start();
    await world.join(plane.url, 'svcreg_a');
    await world.until('Authenticated', 'True', 'Registered');
    expect(plane.count('/api/agent/register')).toBe(1);
  });

  it('asks for a fresh token after it was stopped between the answer and the Secret', async () => {
    await using plane = await FakeControlPlane.start();
    await using world = await OperatorWorld.start();
    plane.accounts.set('svcreg_a', 'fresh');
    const heal = world.cluster.sandbox.faults.add({
      match: ({ method, path }) => method === 'PATCH' && path.endsWith('/secrets/service-operator-credentials'),
      respond: { status: 403, body: '{"kind":"Status","code":403,"reason":"Forbidden","message":"not now"}' },
    });
    const first = await world.start();
    await world.join(plane.url, 'svcreg_a');
    await expect.poll(() => plane.accounts.get('svcreg_a'), { timeout: 30_000 }).toBe('used');
    await world.stop(first);
    heal();
    await world.start();
    const condition = await world.until('Authenticated', 'False', 'RegistrationRefused');
    expect(condition.message).toContain('by this one if it was stopped before it could save its credential');
  });

  it('uses the Secret after a restart and registers no second time', async () => {
    await using plane = await FakeControlPlane.start();
    await using world = await OperatorWorld.start();
    plane.accounts.set('svcreg_a', 'fresh');
    const first = await world.start();
    await world.join(plane.url, 'svcreg_a');
    await world.until('Authenticated', 'True', 'Registered');
    await world.stop(first);
    const polls = plane.count('/api/agent/config');
    await world.start();
    await expect.poll(() => plane.count('/api/agent/config'), { timeout: 30_000 }).toBeGreaterThan(polls);
    expect(plane.count('/api/agent/register')).toBe(1);
  });

  it('takes a proxy that answers for the control plane for an outage, not for a refusal', async () => {
    await using plane = await FakeControlPlane.start();
    await using world = await OperatorWorld.start();
    plane.accounts.set('svcreg_a', 'fresh');
    let left = 1;
    plane.intercept = (_, response) => {
      left -= 1;
      if (left < 0) return false;
      response.writeHead(403, { 'content-type': 'text/html' }).end('<h1>Forbidden</h1>');
      return true;
    };
    await world.start();
    await world.join(plane.url, 'svcreg_a');
    await world.until('Authenticated', 'True', 'Registered');
    expect(plane.count('/api/agent/register')).toBe(2);
  });

  it('serves the older of two Cluster resources and tells the other', async () => {
    await using plane = await FakeControlPlane.start();
    await using world = await OperatorWorld.start();
    plane.accounts.set('svcreg_a', 'fresh');
    await world.start();
    await world.join(plane.url, 'svcreg_a');
    await world.until('Authenticated', 'True', 'Registered');
    await world.join(plane.url, 'svcreg_b', 'twin');
    const stalled = await world.until('Stalled', 'True', 'DuplicateCluster', 'twin');
    expect(stalled.message).toBe('this operator serves the older Cluster eu; delete one of the two');
    expect(plane.count('/api/agent/register')).toBe(1);
  });

  it('starts anew when the Cluster resource is deleted and made again', async () => {
    await using plane = await FakeControlPlane.start();
    await using world = await OperatorWorld.start();
    plane.accounts.set('svcreg_a', 'fresh');
    const operator = await world.start();
    await world.join(plane.url, 'svcreg_a');
    await world.until('Authenticated', 'True', 'Registered');
    await world.delete();
    await world.cluster.sandbox.settled();
    plane.accounts.set('svcreg_b', 'fresh');
    await world.join(plane.url, 'svcreg_b');
    await world.until('Authenticated', 'True', 'Registered');
    expect(decoded(await world.secret('service-operator-credentials'), 'token')).toBe('svcagt_2');
    expect((await fetch(`${operator.probesUrl}/healthz`)).status).toBe(200);
  });
});

describe('what an admin set wrongly', () => {
  it('is named in the condition: a keypair Secret that is none', async () => {
    await using plane = await FakeControlPlane.start();
    await using world = await OperatorWorld.start();
    await world.cluster.api.create(
      {
        apiVersion: 'v1',
        kind: 'Secret',
        metadata: { name: 'service-operator-keypair', namespace: NAMESPACE },
        data: { current: Buffer.from('not a key').toString('base64') },
      },
      'test',
    );
    plane.accounts.set('svcreg_a', 'fresh');
    await world.start();
    await world.join(plane.url, 'svcreg_a');
    const condition = await world.until('Authenticated', 'False', 'ConfigurationInvalid');
    expect(condition.message).toBe(
      'Secret service-operator-keypair is not a key ring (members current and retired); restore it from a backup, or delete it: a new key is made and sent by a rotation, and what was sealed to the old one has to be sealed again',
    );
    expect(plane.count('/api/agent/register')).toBe(0);
  });

  it('is named in the condition: an address that is none', async () => {
    await using world = await OperatorWorld.start();
    await world.start();
    await world.join('http://[', 'svcreg_a');
    const condition = await world.until('Authenticated', 'False', 'ConfigurationInvalid');
    expect(condition.message).toBe('spec.controlPlaneBaseUrl is not a URL; set the address of the control plane.');
  });

  it('is named in the condition: a rule that the Cluster resource breaks', async () => {
    await using world = await OperatorWorld.start();
    await world.start();
    const mtls = { controlPlaneBaseUrl: 'http://service.test', security: { mtls: { enabled: true } } };
    await world.cluster.api.create(
      {
        apiVersion: 'ops.service.io/v1alpha1',
        kind: 'Cluster',
        metadata: { name: 'eu', namespace: 'service-system' },
        spec: mtls,
      },
      'test',
    );
    const condition = await world.until('Authenticated', 'False', 'ConfigurationInvalid');
    expect(condition.message).toContain('security.mtls.enabled needs a controlPlaneBaseUrl that begins with https://');
  });

  it('is no reason to lose a credential of unknown origin that works', async () => {
    await using plane = await FakeControlPlane.start();
    await using world = await OperatorWorld.start();
    plane.tokens.add('svcagt_by-hand');
    plane.accounts.set('svcreg_a', 'fresh');
    await world.cluster.api.create(
      {
        apiVersion: 'v1',
        kind: 'Secret',
        metadata: {
          name: 'service-operator-credentials',
          namespace: NAMESPACE,
          labels: { 'app.service.io/cluster-id': CLUSTER_ID },
        },
        data: { token: Buffer.from('svcagt_by-hand\n').toString('base64') },
      },
      'test',
    );
    await world.start();
    await world.join(plane.url, 'svcreg_a');
    await world.until('Authenticated', 'True', 'Registered');
    expect(plane.count('/api/agent/register')).toBe(0);
  });
});
