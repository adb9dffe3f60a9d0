import type { ClusterApi } from '../kube/cluster-api.ts';
import type { Logger } from '../runtime/logger.ts';

export interface InventoryDeps {
  readonly api: ClusterApi;
  readonly logger: Logger;
  /** Asked at each save: the id is known only once the cluster is registered. */
  readonly clusterId: () => string;
  /** Default `service-system`. */
  readonly namespace?: string;
}

/** What this cluster's operator has applied, whatever the mode, keyed by UID. */
export class Inventory {
  constructor(_deps: InventoryDeps) {
    throw new Error('not written yet');
  }

  /** Call once before the first `apply`. Reads the ConfigMaps; when there are none, rebuilds from labels and deletes nothing. */
  async load(_signal: AbortSignal): Promise<void> {}
}
