import type { DesiredSet } from '../delivery/delivery.ts';
import type { ClusterApi } from '../kube/cluster-api.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Logger } from '../runtime/logger.ts';
import type { ApplyReport } from './apply-report.ts';
import type { ClusterPolicy } from './cluster-policy.ts';
import type { Inventory } from './inventory.ts';

/** Brings one desired set about in the cluster. The same for every transport. */
export interface ApplyLoop {
  /** Rejects only when aborted. Calls must not overlap. */
  apply(set: DesiredSet, signal: AbortSignal): Promise<ApplyReport>;
}

export interface ApplyLoopDeps {
  readonly api: ClusterApi;
  readonly inventory: Inventory;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly policy: () => ClusterPolicy;
}

export function createApplyLoop(_deps: ApplyLoopDeps): ApplyLoop {
  throw new Error('not written yet');
}
