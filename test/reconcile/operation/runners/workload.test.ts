import { startSandbox } from '../../../../src/sandbox/start-sandbox.ts';
import { workloadContract } from '../../../support/workload-contract/workload-contract.ts';

workloadContract('the sandbox', async () => {
  const sandbox = await startSandbox({ tls: false });
  return {
    kubeconfig: sandbox.kubeconfig(),
    settled: async () => await sandbox.settled(),
    [Symbol.asyncDispose]: async () => await sandbox[Symbol.asyncDispose](),
  };
});
