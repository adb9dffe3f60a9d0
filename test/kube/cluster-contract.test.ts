import { clusterContract } from '../support/cluster-contract.ts';
import { forgetHistory } from '../support/real-cluster/forget-history.ts';
import { describeRealCluster } from '../support/real-cluster/real-cluster.ts';

describeRealCluster(
  'kube-apiserver',
  (start) => {
    clusterContract('a real one', async () => {
      const cluster = await start({ controllerManager: true });
      const [, minor = '0'] = /^v1\.(\d+)/.exec(cluster.version) ?? [];
      return {
        url: cluster.url,
        kubeconfig: cluster.kubeconfig,
        namesSubresource: Number(minor) >= 22,
        ...(cluster.etcdUrl === undefined ? {} : { forgetHistory: async () => forgetHistory(cluster) }),
        [Symbol.asyncDispose]: async () => cluster[Symbol.asyncDispose](),
      };
    });
  },
  { needs: ['controller-manager'] },
);
