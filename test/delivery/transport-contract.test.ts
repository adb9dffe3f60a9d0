import { describe } from 'vitest';
import { transportContract } from '../support/transport-contract.ts';
import { sandboxCluster } from '../support/transport-contract/transport-cluster.ts';

describe('a delivery to the sandbox', () => {
  transportContract(sandboxCluster);
});
