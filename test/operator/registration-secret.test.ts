import { describe, expect, it } from 'vitest';
import { FakeControlPlane } from './fake-control-plane.ts';
import { decoded, NAMESPACE, OperatorWorld } from './operator-world.ts';

const NAME = 'service-operator-registration';

async function handOver(world: OperatorWorld, token: string): Promise<void> {
  const metadata = { name: NAME, namespace: NAMESPACE };
  const data = { token: Buffer.from(`${token}\n`).toString('base64') };
  await world.cluster.api.create({ apiVersion: 'v1', kind: 'Secret', metadata, data }, 'kubectl');
}

describe('a registration token in a Secret', () => {
  it('is used where the Cluster resource has none, and deleted once the credential is saved', async () => {
    await using plane = await FakeControlPlane.start();
    await using world = await OperatorWorld.start();
    plane.accounts.set('svcreg_a', 'fresh');
    await handOver(world, 'svcreg_a');
    await world.start();
    await world.join(plane.url);
    await world.until('Authenticated', 'True', 'Registered');
    await expect.poll(async () => world.secret(NAME), { timeout: 30_000 }).toBeUndefined();
    expect(decoded(await world.secret('service-operator-credentials'), 'token')).toBe('svcagt_1');
  });

  it('stays where the Cluster resource has one of its own', async () => {
    await using plane = await FakeControlPlane.start();
    await using world = await OperatorWorld.start();
    plane.accounts.set('svcreg_b', 'fresh');
    await handOver(world, 'svcreg_a');
    await world.start();
    await world.join(plane.url, 'svcreg_b');
    await world.until('Authenticated', 'True', 'Registered');
    expect(decoded(await world.secret(NAME), 'token').trim()).toBe('svcreg_a');
  });

  it('stays when it is refused, so that an admin sees which it was', async () => {
    await using plane = await FakeControlPlane.start();
    await using world = await OperatorWorld.start();
    await handOver(world, 'svcreg_unknown');
    await world.start();
    await world.join(plane.url);
    await world.until('Authenticated', 'False', 'RegistrationRefused');
    expect(await world.secret(NAME)).toBeDefined();
  });

  it('is deleted by the next process where the one that used it was killed before', async () => {
    await using plane = await FakeControlPlane.start();
    await using world = await OperatorWorld.start();
    plane.accounts.set('svcreg_a', 'fresh');
    const operator = await world.start();
    await world.join(plane.url, 'svcreg_a');
    await world.until('Authenticated', 'True', 'Registered');
    await world.stop(operator);
    await world.setSpec({ registration: null });
    await handOver(world, 'svcreg_a');
    await world.start();
    await expect.poll(async () => world.secret(NAME), { timeout: 30_000 }).toBeUndefined();
    expect((await world.until('Authenticated', 'True', 'Registered')).status).toBe('True');
    expect(plane.requests.filter(({ path }) => path === '/api/agent/register')).toHaveLength(1);
  });

  it('is the way back where the one in the Cluster resource is spent and the credential is refused', async () => {
    await using plane = await FakeControlPlane.start();
    await using world = await OperatorWorld.start();
    plane.accounts.set('svcreg_a', 'fresh');
    const operator = await world.start();
    await world.join(plane.url, 'svcreg_a');
    await world.until('Authenticated', 'True', 'Registered');
    await world.stop(operator);
    plane.revoke();
    plane.accounts.set('svcreg_b', 'fresh');
    await handOver(world, 'svcreg_b');
    const again = await world.start();
    await expect.poll(() => plane.accounts.get('svcreg_b'), { timeout: 15_000 }).toBe('used');
    await expect.poll(async () => world.secret(NAME), { timeout: 30_000 }).toBeUndefined();
    await world.until('Authenticated', 'True', 'Registered');
    // Nor is the spent one tried after the next restart.
    await world.stop(again);
    plane.requests.length = 0;
    await world.start();
    await expect.poll(() => plane.count('/api/agent/config'), { timeout: 15_000 }).toBeGreaterThan(0);
    expect(plane.count('/api/agent/register')).toBe(0);
    expect((await world.until('RegistrationTokenSpent', 'True', 'TokenSpent')).status).toBe('True');
  });

  it('is offered once, as the one in the Cluster resource is, when both are refused', async () => {
    await using plane = await FakeControlPlane.start();
    await using world = await OperatorWorld.start();
    await handOver(world, 'svcreg_unknown');
    await world.start();
    await world.join(plane.url, 'svcreg_unknown-too');
    await expect.poll(() => plane.count('/api/agent/register'), { timeout: 15_000 }).toBe(2);
    await world.annotate({ note: 'touched' });
    plane.accounts.set('svcreg_c', 'fresh');
    await world.setSpec({ registration: { token: 'svcreg_c' } });
    await world.until('Authenticated', 'True', 'Registered');
    expect(plane.count('/api/agent/register')).toBe(3);
  });

  it('is missed by name where the Secret has none', async () => {
    await using plane = await FakeControlPlane.start();
    await using world = await OperatorWorld.start();
    await handOver(world, ' ');
    await world.start();
    await world.join(plane.url);
    const { message } = await world.until('Authenticated', 'False', 'NotRegistered');
    expect(message).toBe(
      'The Secret service-system/service-operator-registration has no key token, or nothing in it. Run what `servicectl clusters install-command eu` prints, or put a registration token there.',
    );
  });

  it('is not needed by an operator that may not read the Secret', async () => {
    await using plane = await FakeControlPlane.start();
    await using world = await OperatorWorld.start();
    plane.accounts.set('svcreg_a', 'fresh');
    world.cluster.sandbox.faults.add({
      match: ({ path }) => path.endsWith(`/secrets/${NAME}`),
      respond: { status: 403, body: '{"kind":"Status","code":403,"reason":"Forbidden","message":"no"}' },
    });
    await world.start();
    await world.join(plane.url);
    await world.until('Authenticated', 'False', 'NotRegistered');
    await world.setSpec({ registration: { token: 'svcreg_a' } });
    await world.until('Authenticated', 'True', 'Registered');
  });
});

describe('a spent token in the Cluster resource', () => {
  it('is named with the command that takes it out, until it is out', async () => {
    await using plane = await FakeControlPlane.start();
    await using world = await OperatorWorld.start();
    plane.accounts.set('svcreg_a', 'fresh');
    await world.start();
    await world.join(plane.url, 'svcreg_a');
    await world.until('Authenticated', 'True', 'Registered');
    await world.annotate({ note: 'touched' });
    const { message } = await world.until('RegistrationTokenSpent', 'True', 'TokenSpent');
    expect(message).toContain(
      `kubectl -n service-system patch clusters.ops.service.io eu --type=json -p '[{"op":"remove","path":"/spec/registration"}]'`,
    );
    expect(message).not.toContain('svcreg_');
    await world.setSpec({ registration: null });
    await world.until('RegistrationTokenSpent', 'False', 'TokenRemoved');
  });
});
