import type { Condition } from '../../protocol/condition.ts';
import type { ApplyReport } from '../apply-report.ts';

/**
 * `Synced` and `RemovedWithoutTombstone` of the Cluster's status, from the last pass. Each has a reason and a message
 * that names every bad item (bounded; says how many more). `lastTransitionTime` is left to who merges them.
 */
export function syncConditions(_report: ApplyReport): readonly Condition[] {
  throw new Error('not written yet');
}
