import { pino } from 'pino';
import { describe, expect, it } from 'vitest';
import type { KubeObject } from '../../src/resources/kube-object.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { issuePrivateChain } from '../support/private-authority.ts';
import { FakeControlPlane } from './fake-control-plane.ts';
import { decoded, NAMESPACE, OperatorWorld } from './operator-world.ts';

const CREDENTIALS = 'service-operator-credentials';
const ROTATE = '/api/agent/credentials/rotate';
const PAST = '2026-01-01T00:00:00.000Z';

async function registered(plane: FakeControlPlane, world: OperatorWorld): Promise<void> {
  plane.accounts.set('svcreg_a', 'fresh');
  await world.start();
  await world.join(plane.url, 'svcreg_a');
  await world.until('Authenticated', 'True', 'Registered');
  await expect.poll(async () => (await world.read()).status?.configRevision, { timeout: 30_000 }).toBeDefined();
}

/** What an admin's request looks like from here. */
function askForRotation(plane: FakeControlPlane): void {
  plane.configure({ credential: { expires_at: '2126-12-28T00:00:00.000Z', rotate_after: new Date().toISOString() } });
}

describe('rotation', () => {
  it('is made when the control plane asks for it: saved, then used by every loop, told once everywhere', async () => {
    await using plane = await FakeControlPlane.start(undefined, { connectivity_mode: 'gitops' });
    await using world = await OperatorWorld.start();
    await registered(plane, world);
    askForRotation(plane);
    const condition = await world.until('Authenticated', 'True', 'CredentialRotated');
    const secret = await world.secret(CREDENTIALS);
    expect(decoded(secret, 'token')).toBe('svcagt_2');
    expect(condition).toMatchObject({
      message: 'The credential was rotated. It ends at 2126-12-28T00:00:00.000Z.',
      lastTransitionTime: secret?.metadata.annotations?.['ops.service.io/rotated-at'],
    });
    await expect
      .poll(() => plane.events.filter(({ kind }) => kind === 'CredentialRotated'), { timeout: 30_000 })
      .toHaveLength(1);
    const cluster = await world.read();
    const event = plane.events.find(({ kind }) => kind === 'CredentialRotated');
    expect(event).toMatchObject({
      eventKey: `CredentialRotated/${cluster.metadata.uid}/Authenticated`,
      resourceRef: { kind: 'Cluster', name: 'eu' },
      conditions: [{ ...condition }],
    });
    const records = await world.cluster.api.list<KubeObject>(
      { apiVersion: 'v1', kind: 'Event' },
      { namespace: NAMESPACE },
    );
    expect(records.items.map((record) => record['reason'])).toContain('CredentialRotated');
    const at = plane.requests.findIndex(({ authorization }) => authorization === 'Bearer svcagt_2');
    expect(plane.requests.slice(at).filter(({ authorization }) => authorization === 'Bearer svcagt_1')).toEqual([]);
  });

  it('A7: the answer is lost: the old credential goes on, the next try gives one that every loop takes', async () => {
    await using plane = await FakeControlPlane.start(undefined, { connectivity_mode: 'gitops' });
    await using world = await OperatorWorld.start();
    await registered(plane, world);
    let lost = 1;
    plane.intercept = (request, response) => {
      if (request.path !== ROTATE || lost === 0) return false;
      lost -= 1;
      plane.credentials.rotate('svcagt_1', request.body);
      response.destroy();
      return true;
    };
    askForRotation(plane);
    await world.until('Authenticated', 'True', 'CredentialRotated');
    expect(decoded(await world.secret(CREDENTIALS), 'token')).toBe('svcagt_3');
    expect({ rotations: plane.count(ROTATE), registrations: plane.count('/api/agent/register') }).toEqual({
      rotations: 2,
      registrations: 1,
    });
    expect([...plane.tokens]).toEqual(['svcagt_1', 'svcagt_3']);
  });

  it('A7: stopped before the new credential is saved: the old one works after the restart and rotates again', async () => {
    await using plane = await FakeControlPlane.start(undefined, { connectivity_mode: 'gitops' });
    await using world = await OperatorWorld.start();
    plane.accounts.set('svcreg_a', 'fresh');
    const first = await world.start();
    await world.join(plane.url, 'svcreg_a');
    await world.until('Authenticated', 'True', 'Registered');
    const heal = world.cluster.sandbox.faults.add({
      match: ({ method, path }) => method === 'PATCH' && path.endsWith(`/secrets/${CREDENTIALS}`),
      respond: { status: 500, body: '{"kind":"Status","code":500,"reason":"InternalError","message":"not now"}' },
    });
    askForRotation(plane);
    await expect.poll(() => plane.count(ROTATE), { timeout: 30_000 }).toBe(1);
    await world.stop(first);
    heal();
    expect(decoded(await world.secret(CREDENTIALS), 'token')).toBe('svcagt_1');
    await world.start();
    await world.until('Authenticated', 'True', 'CredentialRotated');
    expect(decoded(await world.secret(CREDENTIALS), 'token')).toBe('svcagt_3');
    expect(plane.requests.filter(({ authorization }) => authorization === 'Bearer svcagt_2')).toEqual([]);
  });

  it('A7: several loops meet the end of the old credential at once: one refresh for all, and no loop of 401', async () => {
    await using plane = await FakeControlPlane.start(undefined, { connectivity_mode: 'gitops' });
    await using world = await OperatorWorld.start();
    await registered(plane, world);
    plane.tokens.clear();
    // Restored from a backup of before the registration's credential: the key is known, the credential is not.
    plane.configure({ allowed_namespaces: ['shop', 'pay'] });
    await world.until('Authenticated', 'True', 'CredentialRecovered');
    expect(decoded(await world.secret(CREDENTIALS), 'token')).toBe('svcagt_2');
    await expect.poll(async () => (await world.read()).status?.allowedNamespaces).toEqual(['shop', 'pay']);
    expect({
      recoveries: plane.count('/api/agent/credentials/recover'),
      rotations: plane.count(ROTATE),
      registrations: plane.count('/api/agent/register'),
    }).toEqual({ recoveries: 1, rotations: 0, registrations: 1 });
  });

  it('that was due while nobody could be asked is made after a restart, and told in no log', async () => {
    await using plane = await FakeControlPlane.start(undefined, { connectivity_mode: 'gitops' });
    await using world = await OperatorWorld.start();
    plane.rotateAfter = PAST;
    plane.accounts.set('svcreg_a', 'fresh');
    const lines: string[] = [];
    const logger = pino({ level: 'trace' }, { write: (line: string) => void lines.push(line) });
    await world.start(systemClock, logger);
    await world.join(plane.url, 'svcreg_a');
    await world.until('Authenticated', 'True', 'CredentialRotated');
    expect(lines.join('')).not.toMatch(/svcagt_|svcreg_/);
    // What it got is due at once again: it is asked for once a minute at most.
    expect(plane.count(ROTATE)).toBe(1);
  });

  it('that is refused is shown, and the credential goes on being used', async () => {
    await using plane = await FakeControlPlane.start(undefined, { connectivity_mode: 'gitops' });
    await using world = await OperatorWorld.start();
    await registered(plane, world);
    plane.intercept = ({ path }, response) => {
      if (path !== ROTATE) return false;
      plane.refuse(response, 'constraint_violated', 'not like this');
      return true;
    };
    askForRotation(plane);
    const condition = await world.until('Authenticated', 'True', 'CredentialRotationFailed');
    expect(condition.message).toBe(
      'The credential works and cannot be replaced: constraint_violated: not like this. It ends at 2126-12-28T00:00:00.000Z. The operator goes on with it and tries again.',
    );
    plane.configure({ delivery_epoch: 2 });
    await expect.poll(async () => (await world.read()).status?.deliveryEpoch).toBe(2);
    expect(plane.count(ROTATE)).toBe(1);
  });

  it('reads the Secret again when its replacement is in use already', async () => {
    await using plane = await FakeControlPlane.start(undefined, { connectivity_mode: 'gitops' });
    await using world = await OperatorWorld.start();
    await registered(plane, world);
    plane.credentials.use(plane.credentials.rotate('svcagt_1', undefined));
    let asked = 0;
    plane.intercept = ({ path }) => {
      if (path === ROTATE) asked += 1;
      return false;
    };
    askForRotation(plane);
    await world.until('Authenticated', 'True', 'CredentialRotationFailed');
    await world.cluster.api.mergePatch(
      { apiVersion: 'v1', kind: 'Secret', namespace: NAMESPACE, name: CREDENTIALS },
      { data: { token: Buffer.from('svcagt_2').toString('base64') } },
    );
    plane.tokens.delete('svcagt_1');
    plane.configure({ delivery_epoch: 3 });
    await expect.poll(async () => (await world.read()).status?.deliveryEpoch, { timeout: 30_000 }).toBe(3);
    expect({ asked, recoveries: plane.count('/api/agent/credentials/recover') }).toEqual({ asked: 1, recoveries: 0 });
  });

  it('gives way to a credential that an admin put into the Secret meanwhile', async () => {
    await using plane = await FakeControlPlane.start(undefined, { connectivity_mode: 'gitops' });
    await using world = await OperatorWorld.start();
    await registered(plane, world);
    plane.tokens.add('svcagt_by-hand');
    const held: (() => void)[] = [];
    plane.intercept = ({ path, body }, response) => {
      if (path !== ROTATE) return false;
      const token = plane.credentials.rotate('svcagt_1', body);
      const times = { expires_at: '2126-12-28T00:00:00.000Z', rotate_after: '2126-12-05T00:00:00.000Z' };
      held.push(() => plane.answer(response, 200, { token, ...times }));
      return true;
    };
    askForRotation(plane);
    await expect.poll(() => held.length, { timeout: 30_000 }).toBe(1);
    await world.cluster.api.mergePatch(
      { apiVersion: 'v1', kind: 'Secret', namespace: NAMESPACE, name: CREDENTIALS },
      { data: { token: Buffer.from('svcagt_by-hand').toString('base64') } },
    );
    held[0]?.();
    const byHand = (): boolean => plane.requests.at(-1)?.authorization === 'Bearer svcagt_by-hand';
    await expect.poll(byHand, { timeout: 30_000 }).toBe(true);
    expect(decoded(await world.secret(CREDENTIALS), 'token')).toBe('svcagt_by-hand');
  });

  it('says that no certificate came where mTLS is on, and goes on by its token', async () => {
    const chain = await issuePrivateChain('private');
    const tls = { cert: chain.leaf + chain.intermediate, key: chain.key };
    await using plane = await FakeControlPlane.start(tls, { connectivity_mode: 'gitops' });
    await using world = await OperatorWorld.start();
    plane.caCertificate = chain.root;
    await world.cluster.api.create(
      {
        apiVersion: 'v1',
        kind: 'Secret',
        metadata: { name: CREDENTIALS, namespace: NAMESPACE },
        data: { 'ca.crt': Buffer.from(chain.root).toString('base64') },
      },
      'kubectl',
    );
    await registered(plane, world);
    await world.setSpec({ security: { mtls: { enabled: true } } });
    const condition = await world.until('Authenticated', 'True', 'ClientCertificateMissing');
    expect(condition.message).toContain('the control plane gave no client certificate');
    expect(plane.credentials.requests).toEqual([expect.stringContaining('BEGIN CERTIFICATE REQUEST')]);
    plane.configure({ delivery_epoch: 2 });
    await expect.poll(async () => (await world.read()).status?.deliveryEpoch, { timeout: 30_000 }).toBe(2);
    expect(plane.count(ROTATE)).toBe(1);
  });
});
