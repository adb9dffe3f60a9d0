import { describe } from 'vitest';
import { answered } from './cluster-kubeconfig.ts';
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

const NAMESPACES_WITHIN_MS = 30_000;

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
  // The server makes them by itself, and may be ready before it has.
  for (const name of ['default', 'kube-system']) {
    await answered(cluster.kubeconfig, `/api/v1/namespaces/${name}`, () => true, NAMESPACES_WITHIN_MS);
  }
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
