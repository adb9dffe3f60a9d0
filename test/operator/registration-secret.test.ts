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
    await expect.poll(async () => world.secret(NAME), { timeout: 5000 }).toBeUndefined();
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
    await expect.poll(async () => world.secret(NAME), { timeout: 5000 }).toBeUndefined();
    expect((await world.until('Authenticated', 'True', 'Registered')).status).toBe('True');
    expect(plane.requests.filter(({ path }) => path === '/api/agent/register')).toHaveLength(1);
  });
});
