import { it } from 'vitest';
import { connectCluster } from '../../src/kube/connect-cluster.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { installDefinitions } from '../support/install-definitions.ts';
import { describeRealCluster, START_TIMEOUT_MS } from '../support/real-cluster/real-cluster.ts';
import { expectSignedSpecsToLast } from '../support/signed-round-trip.ts';

describeRealCluster('a signed spec on a real API server', (start) => {
  // oxlint-disable-next-line vitest/expect-expect
  it('comes back as it was signed', { timeout: START_TIMEOUT_MS }, async () => {
    await using cluster = await start();
    await using api = connectCluster({
      kubeconfig: { kind: 'text', yaml: cluster.kubeconfig },
      userAgent: 'signed-spec-test',
      clock: systemClock,
      random: Math.random,
    });
    await installDefinitions(api);
    await api.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } }, 'test');
    await expectSignedSpecsToLast(api);
  });
});
