import { expect, it } from 'vitest';
import { RunningControlPlane } from '../control-plane/running-control-plane.ts';
import { OperatorWorld } from '../operator/operator-world.ts';
import type { Condition } from '../../src/protocol/condition.ts';
import { findCondition } from '../../src/resources/conditions.ts';

async function authenticated(world: OperatorWorld): Promise<Condition | undefined> {
  return findCondition((await world.read()).status?.conditions, 'Authenticated');
}

it('A6: of two clusters that use one registration token at once one wins, the other is told, and nothing is overwritten', async () => {
  await using plane = await RunningControlPlane.start();
  await using east = await OperatorWorld.start();
  await using west = await OperatorWorld.start();
  const clusterId = await plane.newCluster('prod-eu');
  const { body: issued } = await plane.call('POST', '/clusters/prod-eu/registration-token');
  const worlds = [east, west];
  for (const world of worlds) await world.start();
  await Promise.all(worlds.map(async (world) => await world.join(plane.url, String(issued['registrationToken']))));
  await expect
    .poll(
      async () =>
        (await Promise.all(worlds.map(authenticated))).map((found) => `${found?.status} ${found?.reason}`).sort(),
      { timeout: 15_000, interval: 20 },
    )
    .toEqual(['False RegistrationRefused', 'True Registered']);

  const won = (await authenticated(east))?.status === 'True' ? east : west;
  const lost = won === east ? west : east;
  const told = (await authenticated(lost))?.message ?? '';
  expect(told).toContain('The registration token has been used already');
  expect(told).toContain('servicectl clusters registration-token');
  expect((await lost.read()).status?.clusterId).toBeUndefined();
  expect(await lost.secret('service-operator-credentials')).toBeUndefined();

  // The record is the winner's, whose credential is the only one and good.
  expect((await won.read()).status?.clusterId).toBe(clusterId);
  const kubeSystem = { apiVersion: 'v1', kind: 'Namespace', name: 'kube-system' };
  const { body: cluster } = await plane.call('GET', '/clusters/prod-eu');
  expect(cluster['clusterUid']).toBe((await won.cluster.api.get(kubeSystem))?.metadata.uid);
  expect(plane.query('SELECT id FROM agent_credentials')).toHaveLength(1);
  await won.until('Connected', 'True', 'ControlPlaneReachable');
  const { body: audit } = await plane.call('GET', '/audit?source=agent');
  const kinds = (audit['items'] as { kind: string }[]).map(({ kind }) => kind).filter((kind) => kind.startsWith('Re'));
  expect(kinds.toSorted()).toEqual(['RegistrationTokenUsed']);
});
