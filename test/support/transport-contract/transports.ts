import { expect } from 'vitest';
import type { ConnectivityMode } from '../../../src/protocol/connectivity-mode.ts';
import type { TransportCluster } from './transport-cluster.ts';
import type { TransportMember } from './transport-member.ts';

/** One transport: what is its own. Everything else is the same for all. */
export interface Transport {
  readonly mode: ConnectivityMode;
  /** The field manager of the payloads. */
  readonly manager: 'service-operator' | 'service-control-plane';
  /** Members of the record by which a cluster is delivered to this way. */
  readonly record: (cluster: TransportCluster) => Record<string, unknown>;
  /** What the receipt names besides the mode. */
  readonly receipt: Record<string, unknown>;
  /** What a delivery leaves behind in all: commits, jobs, or writes to the API server. */
  readonly deliveries: (member: TransportMember) => Promise<number>;
  /** How many of those delivering once more what is there makes: a job has its own end, as `noop`. */
  readonly madeAgain: number;
  /** Who meets a conflict: the intent ends with it, or the operator says it and tries on until it is resolved. */
  readonly conflict: 'ends the intent' | 'is waited for';
}

const PAYLOADS = /\/namespaces\/[^/]+\/(?:applicationinstances|operations)\/[^/]+$/;

export const TRANSPORTS: readonly Transport[] = [
  {
    mode: 'gitops',
    manager: 'service-operator',
    record: () => ({ connectivityMode: 'gitops' }),
    receipt: { commit: expect.stringMatching(/^[0-9a-f]{40}$/) },
    deliveries: async ({ plane }) => Number(await plane.git('rev-list', '--count', 'main')),
    madeAgain: 0,
    conflict: 'is waited for',
  },
  {
    mode: 'pull',
    manager: 'service-operator',
    record: () => ({ connectivityMode: 'pull' }),
    receipt: { jobId: expect.stringMatching(/^job-/) },
    deliveries: async ({ plane, id }) =>
      await Promise.resolve(Number(plane.query('SELECT count(*) AS n FROM jobs WHERE cluster_id = ?', id)[0]?.['n'])),
    madeAgain: 1,
    conflict: 'ends the intent',
  },
  {
    mode: 'push',
    manager: 'service-control-plane',
    record: ({ pushKubeconfig }) => ({ connectivityMode: 'push', push: { kubeconfig: pushKubeconfig } }),
    receipt: { fieldManager: 'service-control-plane' },
    deliveries: async ({ cluster }) =>
      await Promise.resolve(
        cluster.pushGate.writes.filter(({ verb, path, dryRun }) => verb === 'APPLY' && !dryRun && PAYLOADS.test(path))
          .length,
      ),
    madeAgain: 0,
    conflict: 'ends the intent',
  },
];
