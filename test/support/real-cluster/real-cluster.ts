import { describe } from 'vitest';
import { realClusterSource, type ClusterSource } from './cluster-source.ts';
import type { RealCluster, RealClusterOptions } from './running-cluster.ts';
import { startRealCluster, WAYS_TO_A_CLUSTER } from './start-real-cluster.ts';

export { realClusterSource } from './cluster-source.ts';
export type { RealCluster, RealClusterOptions } from './running-cluster.ts';
export { startRealCluster, WAYS_TO_A_CLUSTER } from './start-real-cluster.ts';

/** For the hook that starts a cluster: several may be starting on two cores. */
export const START_TIMEOUT_MS = 120_000;

type Start = (options?: RealClusterOptions) => Promise<RealCluster>;
/** Parts of a cluster that not every source has. */
type Part = 'controller-manager';

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
