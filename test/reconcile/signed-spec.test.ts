import { it } from 'vitest';
import { expectSignedSpecsToLast } from '../support/signed-round-trip.ts';
import { startTestCluster } from './test-cluster.ts';

// oxlint-disable-next-line vitest/expect-expect
it('a signed spec comes back from the sandbox as it was signed', async () => {
  await using cluster = await startTestCluster();
  await expectSignedSpecsToLast(cluster.api);
});
