import { startSandbox } from '../../src/sandbox/start-sandbox.ts';
import { clusterContract } from '../support/cluster-contract.ts';

clusterContract('sandbox', async () => {
  const sandbox = await startSandbox();
  return {
    url: sandbox.url,
    kubeconfig: sandbox.kubeconfig(),
    forgetHistory: () => sandbox.compact(),
    [Symbol.asyncDispose]: async () => sandbox[Symbol.asyncDispose](),
  };
});
