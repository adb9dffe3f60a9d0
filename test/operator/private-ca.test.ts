import { describe, expect, it } from 'vitest';
import type { Clock } from '../../src/runtime/clock.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { issuePrivateChain, type PrivateChain } from '../support/private-authority.ts';
import { FakeControlPlane, type ServerTls } from './fake-control-plane.ts';
import { decoded, NAMESPACE, OperatorWorld } from './operator-world.ts';

const NAME = 'service-operator-credentials';
/** Pauses of up to a minute pass at once; those in which nothing is expected to change do not. */
const HURRIED: Clock = {
  now: () => systemClock.now(),
  sleep: async (ms, signal) => await systemClock.sleep(ms <= 60_000 ? Math.min(ms, 20) : ms, signal),
};

/** As web servers are set up: the server's certificate, the intermediate, no root. */
const usual = ({ leaf, intermediate, key }: PrivateChain): ServerTls => ({ cert: leaf + intermediate, key });

async function putRoots(world: OperatorWorld, roots: string): Promise<void> {
  const data = { 'ca.crt': Buffer.from(roots).toString('base64') };
  const secret = { apiVersion: 'v1', kind: 'Secret', metadata: { name: NAME, namespace: NAMESPACE }, data };
  await world.cluster.api.apply(secret, { fieldManager: 'kubectl', force: true });
}

const kept = async (world: OperatorWorld): Promise<string> => decoded(await world.secret(NAME), 'ca.crt');

describe('a control plane with a private CA', () => {
  it.each<[string, (chain: PrivateChain) => string]>([
    ['names no root, as behind a proxy', () => ''],
    ['names its intermediate, as 0.1 does where the file has no root', ({ intermediate }) => intermediate],
    ['names its own certificate alone', ({ leaf }) => leaf],
    ['names the same root', ({ root }) => root],
  ])("leaves the admin's ca.crt in place when it %s", async (_, answered) => {
    const chain = await issuePrivateChain('private');
    await using plane = await FakeControlPlane.start(usual(chain));
    await using world = await OperatorWorld.start();
    plane.accounts.set('svcreg_a', 'fresh');
    plane.caCertificate = answered(chain);
    await putRoots(world, chain.root);
    await world.start();
    await world.join(plane.url, 'svcreg_a');
    await world.until('Connected', 'True', 'ControlPlaneReachable');
    await expect.poll(() => plane.count('/api/agent/config'), { timeout: 30_000 }).toBeGreaterThan(0);
    const secret = await world.secret(NAME);
    expect([decoded(secret, 'ca.crt'), decoded(secret, 'token')]).toEqual([chain.root, 'svcagt_1']);
  });

  it('is reached again once ca.crt is changed, without a restart', async () => {
    const [before, after] = await Promise.all([issuePrivateChain('old'), issuePrivateChain('new')]);
    await using plane = await FakeControlPlane.start(usual(before));
    await using world = await OperatorWorld.start();
    plane.accounts.set('svcreg_a', 'fresh');
    await putRoots(world, before.root);
    await world.start(HURRIED);
    await world.join(plane.url, 'svcreg_a');
    await world.until('Connected', 'True', 'ControlPlaneReachable');
    plane.useCertificate(usual(after));
    const { message } = await world.until('Connected', 'False', 'ControlPlaneUnreachable');
    expect(message).toMatch(/certificate/);
    await putRoots(world, after.root);
    await world.until('Connected', 'True', 'ControlPlaneReachable');
    expect([await kept(world), decoded(await world.secret(NAME), 'token')]).toEqual([after.root, 'svcagt_1']);
  });

  it('is reached once ca.crt is there, when it was forgotten before the operator started', async () => {
    const chain = await issuePrivateChain('private');
    await using plane = await FakeControlPlane.start(usual(chain));
    await using world = await OperatorWorld.start();
    plane.accounts.set('svcreg_a', 'fresh');
    await world.start(HURRIED);
    await world.join(plane.url, 'svcreg_a');
    await world.until('Connected', 'False', 'ControlPlaneUnreachable');
    expect(plane.count('/api/agent/register')).toBe(0);
    await putRoots(world, chain.root);
    await world.until('Authenticated', 'True', 'Registered');
    expect(await kept(world)).toBe(chain.root);
  });
});

describe('roots that a registration answers where no ca.crt is there', () => {
  it('are kept at an address without TLS, where they cut nobody off', async () => {
    const { root } = await issuePrivateChain('private');
    await using plane = await FakeControlPlane.start();
    await using world = await OperatorWorld.start();
    plane.accounts.set('svcreg_a', 'fresh');
    plane.caCertificate = root;
    await world.start();
    await world.join(plane.url, 'svcreg_a');
    await world.until('Authenticated', 'True', 'Registered');
    expect(await kept(world)).toBe(root);
  });
});
