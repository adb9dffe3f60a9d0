import { describe } from 'vitest';
import { startSandbox } from '../../../src/sandbox/start-sandbox.ts';
import { pushesTombstones } from '../../support/push/push-removal-contract.ts';
import { describeRealCluster, START_TIMEOUT_MS } from '../../support/real-cluster/real-cluster.ts';

describe('a deletion in push mode on the sandbox', () => {
  pushesTombstones(async () => {
    const sandbox = await startSandbox();
    return {
      kubeconfig: sandbox.kubeconfig(),
      [Symbol.asyncDispose]: async () => await sandbox[Symbol.asyncDispose](),
    };
  }, START_TIMEOUT_MS);
});

describeRealCluster('a deletion in push mode on a real API server', (start) => {
  pushesTombstones(async () => await start(), START_TIMEOUT_MS);
});
