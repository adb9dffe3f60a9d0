import { describe, expect, it } from 'vitest';
import { systemClock, type Clock } from '../../src/runtime/clock.ts';
import { CLUSTER_ID, FakeControlPlane } from './fake-control-plane.ts';
import { decoded, NAMESPACE, OperatorWorld } from './operator-world.ts';

/** Real time, but for the pauses between two looks at the Secrets. */
const LOOKS = new Set([10_000, 300_000]);
const hurried: Clock = {
  now: () => systemClock.now(),
  sleep: async (ms, signal) => await systemClock.sleep(LOOKS.has(ms) ? 50 : ms, signal),
};

async function registered(plane: FakeControlPlane, world: OperatorWorld): Promise<void> {
  plane.accounts.set('svcreg_a', 'fresh');
  await world.start(hurried);
  await world.join(plane.url, 'svcreg_a');
  await world.until('Authenticated', 'True', 'Registered');
}

async function remove(world: OperatorWorld, name: string): Promise<void> {
  await world.cluster.api.delete({ apiVersion: 'v1', kind: 'Secret', namespace: NAMESPACE, name });
}

describe('a Secret that somebody deletes', () => {
  it('is put back as long as its credential works, and no other is asked for', async () => {
    await using plane = await FakeControlPlane.start();
    await using world = await OperatorWorld.start();
    await registered(plane, world);
    const before = await world.secret('service-operator-credentials');
    await remove(world, 'service-operator-credentials');
    await expect.poll(async () => (await world.secret('service-operator-credentials'))?.data).toEqual(before?.data);
    const after = await world.secret('service-operator-credentials');
    expect(after?.metadata.annotations).toEqual(before?.metadata.annotations);
    expect(after?.metadata.labels).toEqual({ 'app.service.io/cluster-id': CLUSTER_ID });
    await world.until('Authenticated', 'True', 'Registered');
    expect(plane.count('/api/agent/register')).toBe(1);
  });

  it('is put back with the keys that values are sealed to', async () => {
    await using plane = await FakeControlPlane.start();
    await using world = await OperatorWorld.start();
    await registered(plane, world);
    const before = decoded(await world.secret('service-operator-keypair'), 'current');
    await remove(world, 'service-operator-keypair');
    await expect.poll(async () => decoded(await world.secret('service-operator-keypair'), 'current')).toBe(before);
    expect((await world.secret('service-operator-keypair'))?.metadata.labels).toEqual({
      'app.service.io/cluster-id': CLUSTER_ID,
    });
    expect(plane.count('/api/agent/credentials/rotate')).toBe(0);
  });

  it('and that nobody remembers is made anew, and the control plane told of the new key', async () => {
    await using plane = await FakeControlPlane.start();
    await using world = await OperatorWorld.start();
    plane.accounts.set('svcreg_a', 'fresh');
    const first = await world.start(hurried);
    await world.join(plane.url, 'svcreg_a');
    await world.until('Authenticated', 'True', 'Registered');
    await world.stop(first);
    await remove(world, 'service-operator-keypair');
    await world.start(hurried);
    await world.until('Authenticated', 'True', 'CredentialRotated');
    const { kid } = JSON.parse(decoded(await world.secret('service-operator-keypair'), 'current')) as { kid: string };
    expect(plane.credentials.publicKey?.kid).toBe(kid);
    expect(plane.count('/api/agent/credentials/rotate')).toBe(1);
  });

  it('and that held a credential which is revoked: its registration token is known to be used all the same', async () => {
    await using plane = await FakeControlPlane.start();
    await using world = await OperatorWorld.start();
    plane.accounts.set('svcreg_a', 'fresh');
    const first = await world.start(hurried);
    await world.join(plane.url, 'svcreg_a');
    await expect
      .poll(async () => (await world.read()).status?.registration?.state, { timeout: 30_000 })
      .toBe('registered');
    await world.stop(first);
    await remove(world, 'service-operator-credentials');
    plane.revoke();

    await world.start(hurried);
    const { message } = await world.until('Authenticated', 'False', 'NotRegistered');
    expect(message).toBe(
      'There is no credential, and the registration token that is there was used by this cluster before. Run what `servicectl clusters install-command eu` prints, or put a registration token into the Secret service-system/service-operator-registration under the key token.',
    );
    await world.until('RegistrationTokenSpent', 'True', 'TokenSpent');
    expect(plane.count('/api/agent/register')).toBe(1);
    plane.accounts.set('svcreg_b', 'fresh');
    await world.setSpec({ registration: { token: 'svcreg_b' } });
    await world.until('Authenticated', 'True', 'Registered');
  });
});
