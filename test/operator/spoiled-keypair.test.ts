import { describe, expect, it } from 'vitest';
import { systemClock, type Clock } from '../../src/runtime/clock.ts';
import { FakeControlPlane } from './fake-control-plane.ts';
import { decoded, NAMESPACE, OperatorWorld } from './operator-world.ts';

/**
 * Real time, but for the pauses between two looks at the Secrets, and for how long a fault is tolerated. That is as long as
 * a request may take, so it is not cut to less than one does.
 */
const HURRIED = new Map([
  [10_000, 50],
  [300_000, 50],
  [30_000, 3000],
]);
const hurried: Clock = {
  now: () => systemClock.now(),
  sleep: async (ms, signal) => await systemClock.sleep(HURRIED.get(ms) ?? ms, signal),
};
const SECRET = { apiVersion: 'v1', kind: 'Secret', namespace: NAMESPACE, name: 'service-operator-keypair' };

describe('a keypair Secret that is spoiled', () => {
  it('keeps nothing but decryption from going on after a restart, and is mended by deleting it', async () => {
    await using plane = await FakeControlPlane.start();
    await using world = await OperatorWorld.start();
    plane.accounts.set('svcreg_a', 'fresh');
    const first = await world.start(hurried);
    await world.join(plane.url, 'svcreg_a');
    await world.until('ControllersHealthy', 'True', 'ControllersRunning');
    await world.stop(first);
    await world.cluster.api.mergePatch(SECRET, { data: { current: Buffer.from('not a key').toString('base64') } });
    const seen = plane.requests.length;

    await world.start(hurried);
    const { message } = await world.until('ControllersHealthy', 'False', 'ControllerFailed');
    expect(message).toBe(
      "the cluster's keys cannot be used: Secret service-operator-keypair is not a key ring (members current and retired); restore it from a backup, or delete it: a new key is made and sent by a rotation, and what was sealed to the old one has to be sealed again",
    );
    await world.until('Authenticated', 'True', 'Registered');
    await expect.poll(() => plane.requests.slice(seen).map(({ path }) => path)).toContain('/api/agent/events');

    await world.cluster.api.delete(SECRET);
    await world.until('Authenticated', 'True', 'CredentialRotated');
    await world.until('ControllersHealthy', 'True', 'ControllersRunning');
    const { kid } = JSON.parse(decoded(await world.secret(SECRET.name), 'current')) as { kid: string };
    expect(plane.credentials.publicKey?.kid).toBe(kid);
    expect(plane.count('/api/agent/register')).toBe(1);
  });
});
