import type { FoldedCondition } from './ingest-store.ts';
import { isOfOlderEpoch } from './move-intents.ts';

/**
 * The source revision that the cluster has now applied whole, where this batch says so: a `Cluster` resource's
 * Synced=True that became current status. Undefined where nothing new was said.
 */
export function appliedRevision(current: readonly FoldedCondition[], deliveryEpoch: number): string | undefined {
  const synced = current.find(
    ({ event, condition }) =>
      event.resourceRef.kind === 'Cluster' &&
      condition.type === 'Synced' &&
      condition.status === 'True' &&
      event.source?.revision !== undefined &&
      !isOfOlderEpoch(event, deliveryEpoch),
  );
  return synced?.event.source?.revision;
}
