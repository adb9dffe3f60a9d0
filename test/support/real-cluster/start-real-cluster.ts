import { startAssetsCluster } from './assets-cluster.ts';
import { answered } from './cluster-kubeconfig.ts';
import { realClusterSource } from './cluster-source.ts';
import { startContainerCluster } from './container-cluster.ts';
import { recordCovered } from './covered-clusters.ts';
import type { RealCluster, RealClusterOptions } from './running-cluster.ts';

export const WAYS_TO_A_CLUSTER = 'run test/kube/build.sh, set KUBEBUILDER_ASSETS, or start Docker';

const NAMESPACES_WITHIN_MS = 30_000;

/** Starts a real cluster of this machine's own; the caller disposes of it. */
export async function startRealCluster(options: RealClusterOptions = {}): Promise<RealCluster> {
  const source = realClusterSource();
  if (source === undefined) throw new Error(`there is no real cluster here: ${WAYS_TO_A_CLUSTER}`);
  const cluster = await (source.kind === 'assets'
    ? startAssetsCluster(source, options)
    : startContainerCluster(source, options));
  // The server makes them by itself, and may be ready before it has.
  for (const name of ['default', 'kube-system']) {
    await answered(cluster.kubeconfig, `/api/v1/namespaces/${name}`, () => true, NAMESPACES_WITHIN_MS);
  }
  recordCovered(`kube-apiserver ${cluster.version} (${source.kind === 'assets' ? source.origin : source.image})`);
  return cluster;
}
