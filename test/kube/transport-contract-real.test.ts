import { describeRealCluster } from '../support/real-cluster/real-cluster.ts';
import { transportContract } from '../support/transport-contract.ts';
import { realCluster } from '../support/transport-contract/transport-cluster.ts';

describeRealCluster('a delivery to a real API server', (start) => {
  transportContract(async () => await realCluster(start));
});
