import { expect, it, vi } from 'vitest';
import type { KubeObject } from '../../../src/resources/kube-object.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { CLUSTER_ID } from '../../reconcile/manifests.ts';
import { NAMESPACE, OperatorWorld } from '../operator-world.ts';

const SECRET = { apiVersion: 'v1', kind: 'Secret', namespace: NAMESPACE, name: 'service-operator-webhook' };
const CLUSTER = { apiVersion: 'ops.service.io/v1alpha1', kind: 'Cluster', namespace: NAMESPACE, name: 'eu' };
const MANAGED = { 'app.service.io/managed-by': 'control-plane' };

it('gets the label of the cluster as soon as the cluster is registered', async () => {
  await using world = await OperatorWorld.start();
  const { api } = world.cluster;
  const labelled = async (labels: Record<string, string>): Promise<void> => {
    const look = async (): Promise<KubeObject | undefined> => {
      const secret = await api.get(SECRET);
      expect(secret?.metadata.labels).toEqual(labels);
      return secret;
    };
    await vi.waitFor(look, { timeout: 10_000, interval: 20 });
  };
  await world.join('http://127.0.0.1:9');
  // Time stands still, so no look comes of itself.
  await world.start(new ManualClock());
  await labelled(MANAGED);
  const status = { clusterId: CLUSTER_ID };
  await api.mergePatch(CLUSTER, { status }, { subresource: 'status', fieldManager: 'test' });
  await labelled({ ...MANAGED, 'app.service.io/cluster-id': CLUSTER_ID });
});
