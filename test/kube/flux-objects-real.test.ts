import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { ClusterApi } from '../../src/kube/cluster-api.ts';
import { connectCluster } from '../../src/kube/connect-cluster.ts';
import { desiredRelease } from '../../src/reconcile/application-instance/desired-release.ts';
import {
  desiredHelmRepository,
  desiredOciRepository,
} from '../../src/reconcile/application-instance/desired-source.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { aNamespace, CLUSTER_ID } from '../reconcile/manifests.ts';
import { hasFluxDefinitions, installDefinitions } from '../support/install-definitions.ts';
import { instanceInput } from '../support/instance-input.ts';
import { describeRealCluster, START_TIMEOUT_MS, type RealCluster } from '../support/real-cluster/real-cluster.ts';

describeRealCluster(
  `the objects for Flux, by ${hasFluxDefinitions ? "Flux' own" : 'minimal'} definitions on a real API server`,
  (start) => {
    let cluster: RealCluster;
    let api: ClusterApi & AsyncDisposable;

    beforeAll(async () => {
      cluster = await start();
      api = connectCluster({
        kubeconfig: { kind: 'text', yaml: cluster.kubeconfig },
        userAgent: 'flux-objects-test',
        clock: systemClock,
        random: Math.random,
      });
      await installDefinitions(api);
      await api.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } }, 'test');
    }, START_TIMEOUT_MS);
    afterAll(async () => {
      await api?.[Symbol.asyncDispose]();
      await cluster?.[Symbol.asyncDispose]();
    });

    it('are taken, and kept as they were sent', { timeout: 60_000 }, async () => {
      const options = { fieldManager: 'test', dryRun: true };
      for (const instance of fc.sample(instanceInput, { numRuns: 60, seed: 20_261_128 })) {
        const source =
          instance.spec.chart.type === 'oci'
            ? desiredOciRepository(instance, CLUSTER_ID)
            : desiredHelmRepository(instance, CLUSTER_ID);
        for (const object of [source, desiredRelease(instance, aNamespace(), CLUSTER_ID)]) {
          const { object: kept } = await api.apply(object, options);
          // JSON has no -0.
          const sent = JSON.parse(JSON.stringify(object['spec'])) as object;
          expect(kept['spec']).toMatchObject(sent);
        }
      }
    });

    it.runIf(hasFluxDefinitions)('and the definitions would tell: an interval without a unit is refused', async () => {
      const [instance] = fc.sample(instanceInput, { numRuns: 1, seed: 1 });
      const release = desiredRelease(instance!, aNamespace(), CLUSTER_ID);
      const broken = { ...release, spec: { ...release.spec, interval: '10' } };
      await expect(api.apply(broken, { fieldManager: 'test', dryRun: true })).rejects.toMatchObject({
        status: 422,
        causes: [{ field: 'spec.interval' }],
      });
    });
  },
);
