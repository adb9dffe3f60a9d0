import { describe, expect, it } from 'vitest';
import type { KubeObject } from '../../src/resources/kube-object.ts';
import { anInstance, CHART_URL } from '../reconcile/manifests.ts';
import { FakeControlPlane } from './fake-control-plane.ts';
import { OperatorWorld } from './operator-world.ts';
import { leaseOf, Replica, untilTransitions } from './replicas.ts';

const TIMEOUT_MS = 90_000;
const RELEASE = { apiVersion: 'helm.toolkit.fluxcd.io/v2', kind: 'HelmRelease' };
const INSTANCE = { apiVersion: 'apps.service.io/v1alpha1', kind: 'ApplicationInstance' };
const CHART = { type: 'oci', url: CHART_URL, name: 'podinfo' } as const;

async function twoReplicas(
  plane: FakeControlPlane,
  world: OperatorWorld,
): Promise<{ readonly first: Replica; readonly second: Replica }> {
  plane.accounts.set('svcreg_a', 'fresh');
  plane.configure({ catalog_entries: [{ entry: 'podinfo', chart: CHART, versions: '>=6.5.0 <7' }] });
  await world.join(plane.url, 'svcreg_a');
  const first = await Replica.start(world, 'first');
  await untilTransitions(world, 0);
  const second = await Replica.start(world, 'second');
  await world.until('ControllersHealthy', 'True', 'ControllersRunning');
  await expect.poll(() => second.log.join('\n'), { timeout: 20_000 }).toContain('this one stands by');
  return { first, second };
}

/** uid, generation and resourceVersion of everything that stands. */
async function standing(world: OperatorWorld): Promise<string[]> {
  const lists = await Promise.all([RELEASE, INSTANCE].map(async (kind) => await world.cluster.api.list(kind)));
  const secrets = ['service-operator-credentials', 'service-operator-keypair'].map(
    async (name) => await world.secret(name),
  );
  return [...lists.flatMap(({ items }) => items), ...(await Promise.all(secrets))]
    .map((object: KubeObject | undefined) => {
      const { name, uid, resourceVersion } = object?.metadata ?? { name: 'missing' };
      return `${object?.kind} ${name} ${uid} ${resourceVersion}`;
    })
    .sort();
}

async function releases(world: OperatorWorld): Promise<number> {
  return (await world.cluster.api.list(RELEASE)).items.length;
}

/** Conditions that were told, each with the time of its transition: what is told twice is the same text twice. */
function told(plane: FakeControlPlane): string[] {
  return plane.events
    .filter(({ kind }) => kind === 'ConditionTransition')
    .map(
      ({ eventKey, conditions: [condition] }) => `${eventKey} ${condition?.lastTransitionTime} ${condition?.message}`,
    );
}

describe('two replicas', () => {
  it('go on within 15 s when the one that leads is killed, and do nothing twice', { timeout: TIMEOUT_MS }, async () => {
    await using plane = await FakeControlPlane.start();
    await using world = await OperatorWorld.start();
    const { first, second } = await twoReplicas(plane, world);
    await using _first = first;
    await using _second = second;
    for (const name of ['a', 'b', 'c']) await world.cluster.api.create(anInstance({ name }), 'test');
    await expect.poll(async () => await releases(world), { timeout: 20_000 }).toBe(3);
    await expect
      .poll(() => told(plane).filter((text) => text.includes('/Reconciling/')).length, { timeout: 10_000 })
      .toBe(3);
    const before = await standing(world);
    // Work that comes in the moment of its death.
    await first.kill();
    const killedAt = Date.now();
    for (const name of ['d', 'e']) await world.cluster.api.create(anInstance({ name }), 'test');
    await untilTransitions(world, 1);
    const { acquireTime = '' } = await leaseOf(world);
    expect(Date.parse(acquireTime) - killedAt).toBeLessThan(15_000);
    await expect.poll(async () => await releases(world), { timeout: 20_000 }).toBe(5);
    await expect
      .poll(() => told(plane).filter((text) => text.includes('/Reconciling/')).length, { timeout: 10_000 })
      .toBeGreaterThanOrEqual(5);
    // What stood before stands as it did: no second apply, no other credential, no other key.
    expect((await standing(world)).filter((line) => before.includes(line))).toEqual(before);
    expect(plane.count('/api/agent/register')).toBe(1);
    // What the new leader says again of what stands is the same event, which is recorded once, under a greater number.
    const numbers = plane.events.map(({ sequence = '' }) => sequence.split('.').map(Number));
    expect(numbers).toEqual(numbers.toSorted(([a = 0, b = 0], [c = 0, d = 0]) => a - c || b - d));
    const [[start = 0] = []] = numbers;
    expect(new Set(numbers.map(([transitions = 0]) => transitions - start))).toEqual(new Set([0, 1]));
    const keys = told(plane).filter((text) => /\/(?:a|b|c)\//.test(text));
    expect(new Set(keys).size).toBe(9);
  });

  it('let one that was suspended past its time write nothing when it wakes up', { timeout: TIMEOUT_MS }, async () => {
    await using plane = await FakeControlPlane.start();
    await using world = await OperatorWorld.start();
    const { first, second } = await twoReplicas(plane, world);
    await using _first = first;
    await using _second = second;
    first.process.kill('SIGSTOP');
    await untilTransitions(world, 1);
    // There is plenty that it would do.
    for (const name of ['a', 'b', 'c']) await world.cluster.api.create(anInstance({ name }), 'test');
    await expect.poll(async () => await releases(world), { timeout: 20_000 }).toBe(3);
    const { holderIdentity } = await leaseOf(world);
    const written = first.writes.length;
    first.process.kill('SIGCONT');
    await expect.poll(() => first.log.join('\n'), { timeout: 20_000 }).toContain('not the leader any more');
    await expect
      .poll(() => first.log.filter((line) => line.includes('this one stands by')).length, { timeout: 20_000 })
      .toBe(1);
    expect(first.writes.slice(written).filter((write) => !write.includes('/leases/'))).toEqual([]);
    expect((await leaseOf(world)).holderIdentity).toBe(holderIdentity);
  });
});
