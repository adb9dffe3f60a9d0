import { describe } from 'vitest';
import { startAssetsCluster } from './assets-cluster.ts';
import { realClusterSource, type ClusterSource } from './cluster-source.ts';
import { startContainerCluster } from './container-cluster.ts';
import { recordCovered } from './covered-clusters.ts';
import type { RealCluster, RealClusterOptions } from './running-cluster.ts';

export { realClusterSource } from './cluster-source.ts';
export type { RealCluster, RealClusterOptions } from './running-cluster.ts';

/** For the hook that starts a cluster: several may be starting on two cores. */
export const START_TIMEOUT_MS = 120_000;
export const WAYS_TO_A_CLUSTER = 'run test/kube/build.sh, set KUBEBUILDER_ASSETS, or start Docker';

type Start = (options?: RealClusterOptions) => Promise<RealCluster>;
/** Parts of a cluster that not every source has. */
type Part = 'controller-manager';

/** Starts a real cluster of this machine's own; the caller disposes of it. */
export async function startRealCluster(options: RealClusterOptions = {}): Promise<RealCluster> {
  const source = realClusterSource();
  if (source === undefined) throw new Error(`there is no real cluster here: ${WAYS_TO_A_CLUSTER}`);
  const cluster = await (source.kind === 'assets'
    ? startAssetsCluster(source, options)
    : startContainerCluster(source, options));
  recordCovered(`kube-apiserver ${cluster.version} (${source.kind === 'assets' ? source.origin : source.image})`);
  return cluster;
}

/**
 * A `describe` for a real cluster. Where there is none it is skipped and its name says why; with
 * SERVICE_TEST_CLUSTER=required its tests fail instead, as `start` does.
 */
export function describeRealCluster(
  name: string,
  body: (start: Start) => void,
  options: { readonly needs?: readonly Part[] } = {},
): void {
  const why = lacking(realClusterSource(), options.needs ?? []);
  const skipped = why !== undefined && process.env['SERVICE_TEST_CLUSTER'] !== 'required';
  describe.skipIf(skipped)(`${name}${skipped ? ` (skipped: ${why})` : ''}`, () => {
    body(startRealCluster);
  });
}

function lacking(source: ClusterSource | undefined, needs: readonly Part[]): string | undefined {
  if (source === undefined) return `no real cluster here; ${WAYS_TO_A_CLUSTER}`;
  if (needs.includes('controller-manager') && source.kind === 'assets' && source.controllerManager === undefined) {
    return `${source.origin} has no kube-controller-manager`;
  }
  return undefined;
}
