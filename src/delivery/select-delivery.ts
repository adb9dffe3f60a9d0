import type { ConnectivityMode } from '../protocol/connectivity-mode.ts';

/** What is written to as a whole, one batch at a time: all clusters of a repository share one. */
export interface DeliveryTarget {
  readonly mode: 'gitops';
  readonly repositoryId: string;
}

/** A cluster's record, as far as it says how the cluster is reached. */
export interface ClusterWay {
  readonly mode: ConnectivityMode;
  readonly repositoryId: string | null;
}

/** The target by which a cluster's intents are delivered; undefined in a mode that this version does not deliver in. */
export function selectDelivery(way: ClusterWay): DeliveryTarget | undefined {
  switch (way.mode) {
    case 'gitops':
      return way.repositoryId === null ? undefined : { mode: 'gitops', repositoryId: way.repositoryId };
    case 'pull':
    case 'push':
      return undefined;
  }
}

/** Why an intent for the cluster could not be delivered, to be said before it is stored; undefined when it can be. */
export function deliverableNow(way: ClusterWay): string | undefined {
  if (selectDelivery(way) !== undefined) return undefined;
  return way.mode === 'gitops'
    ? 'is gitops, but the cluster has no repository'
    : `is ${way.mode}; this version delivers in gitops mode only, so the intent was not stored`;
}
