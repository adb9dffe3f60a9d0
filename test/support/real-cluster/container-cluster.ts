import type { ContainerSource } from './cluster-source.ts';
import type { RealCluster, RealClusterOptions } from './running-cluster.ts';

/** A cluster in a container; written next. */
export async function startContainerCluster(
  source: ContainerSource,
  _options: RealClusterOptions,
): Promise<RealCluster> {
  throw new Error(`${source.image}: clusters in containers are not there yet`);
}
