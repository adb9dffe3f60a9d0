import { describeRealCluster, realClusterSource } from '../support/real-cluster/real-cluster.ts';
import { workloadContract } from '../support/workload-contract/workload-contract.ts';

describeRealCluster('kube-apiserver', (start) => {
  // In a container the cluster has controllers of its own, which the stand-in would quarrel with.
  if (realClusterSource()?.kind === 'container') return;
  workloadContract('a real one', async () => {
    // Nobody fills the accounts' tokens without a controller manager.
    const cluster = await start({ apiServerFlags: ['--disable-admission-plugins=ServiceAccount'] });
    return {
      kubeconfig: cluster.kubeconfig,
      [Symbol.asyncDispose]: async () => await cluster[Symbol.asyncDispose](),
    };
  });
});
