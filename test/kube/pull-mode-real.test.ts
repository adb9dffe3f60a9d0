import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import type { KubeObject } from '../../src/resources/kube-object.ts';
import { INSTALL } from '../control-plane/running-control-plane.ts';
import { GrantedCluster, instanceRef, SYSTEM } from '../support/granted-cluster.ts';
import { describeRealCluster, START_TIMEOUT_MS } from '../support/real-cluster/real-cluster.ts';

type WithSource = KubeObject & { readonly status?: { readonly source?: Readonly<Record<string, unknown>> } };

describeRealCluster('pull mode on a real API server, with the rights of the manifest', (start) => {
  let world: GrantedCluster;

  beforeAll(async () => {
    world = await GrantedCluster.start(start);
    world.startReleaseController();
    await world.startOperator();
    await world.joinInPullMode();
    await world.untilCluster('ControllersHealthy', 'True ControllersRunning');
  }, START_TIMEOUT_MS);
  afterAll(async () => {
    await world?.[Symbol.asyncDispose]();
  });

  it(
    'takes an instance from its install to Ready in its own status, with a cluster event, through an update, and away',
    { timeout: 120_000 },
    async () => {
      const ref = instanceRef('podinfo');
      await world.bring(INSTALL, 'ready');
      const ready = await world.until(ref, 'Ready', 'True HelmReleaseReady', 10_000);
      expect(ready.lastTransitionTime).toBeDefined();
      await world.until(ref, 'Reconciling', 'False Stable', 10_000);
      // A job is no revision, and an empty one is refused by this server.
      expect(((await world.read(ref)) as WithSource).status?.source).toEqual({
        mode: 'pull',
        intentId: expect.stringMatching(/^int-/),
      });
      await vi.waitFor(
        async () => {
          const { items } = await world.admin.list({ apiVersion: 'v1', kind: 'Event' }, { namespace: 'shop' });
          expect(items.map((event) => [event['reason'], event['involvedObject']])).toContainEqual([
            'ReleaseReady',
            expect.objectContaining({ kind: 'ApplicationInstance', name: 'podinfo' }),
          ]);
        },
        { timeout: 10_000 },
      );
      await world.bring({ ...INSTALL, action: 'update', chartVersion: '6.6.1' }, 'ready');
      await world.until(ref, 'Ready', 'True HelmReleaseUpgraded', 10_000);
      expect((await world.untilCluster('Synced', 'True Applied', 10_000)).message).toBe(
        'every job that came is applied or answered',
      );
      await world.bring({ action: 'uninstall', namespace: 'shop', name: 'podinfo' }, 'removed');
      await world.untilGone(ref);
      await vi.waitFor(
        async () => {
          const { items } = await world.admin.list({ apiVersion: 'v1', kind: 'Secret' }, { namespace: SYSTEM });
          const names = items.map(({ metadata }) => metadata.name);
          expect(names.filter((name) => name.startsWith('service-operator-job-'))).toEqual([]);
        },
        { timeout: 10_000 },
      );
    },
  );
});
