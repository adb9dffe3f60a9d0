import { describe } from 'vitest';
import { startSandbox } from '../../../src/sandbox/start-sandbox.ts';
import { pushesManifests } from '../../support/push/push-contract.ts';
import { describeRealCluster, START_TIMEOUT_MS } from '../../support/real-cluster/real-cluster.ts';

describe('push mode on the sandbox', () => {
  pushesManifests(async () => {
    const sandbox = await startSandbox();
    return {
      kubeconfig: sandbox.kubeconfig(),
      [Symbol.asyncDispose]: async () => await sandbox[Symbol.asyncDispose](),
    };
  }, START_TIMEOUT_MS);
});

describeRealCluster('push mode on a real API server', (start) => {
  pushesManifests(async () => await start(), START_TIMEOUT_MS);
});
