import type { ConnectivityMode } from '../protocol/connectivity-mode.ts';

/** A repository: all clusters in it share one target. */
export interface GitopsTarget {
  readonly mode: 'gitops';
  readonly repositoryId: string;
}

/** One cluster's queue of jobs. */
export interface PullTarget {
  readonly mode: 'pull';
  readonly clusterId: string;
}

/** The API server of one cluster. */
export interface PushTarget {
  readonly mode: 'push';
  readonly clusterId: string;
}

/** What is written to as a whole, one batch at a time. */
export type DeliveryTarget = GitopsTarget | PullTarget | PushTarget;

/** A cluster's record, as far as it says how the cluster is reached. */
export interface ClusterWay {
  readonly clusterId: string;
  readonly mode: ConnectivityMode;
  readonly repositoryId: string | null;
}

/** The target by which a cluster's intents are delivered; undefined for one in gitops mode without a repository. */
export function selectDelivery(way: ClusterWay): DeliveryTarget | undefined {
  switch (way.mode) {
    case 'gitops':
      return way.repositoryId === null ? undefined : { mode: 'gitops', repositoryId: way.repositoryId };
    case 'pull':
    case 'push':
      return { mode: way.mode, clusterId: way.clusterId };
  }
}

/** Why an intent for the cluster could not be delivered, to be said before it is stored; undefined when it can be. */
export function deliverableNow(way: ClusterWay): string | undefined {
  return selectDelivery(way) === undefined ? 'is gitops, but the cluster has no repository' : undefined;
}
