import type { DeliveryItem } from '../delivery/delivery.ts';
import type { DeliveryTarget } from '../delivery/select-delivery.ts';
import type { WorkQueue } from './store/delivery-queue.ts';

/** A repository is one target; of the clusters in pull mode each is one. */
export function byTarget(
  queue: WorkQueue,
  rendered: readonly DeliveryItem[],
): { readonly target: DeliveryTarget; readonly part: readonly DeliveryItem[] }[] {
  if (rendered.length === 0) return [];
  if (queue.mode !== 'pull') return [{ target: queue, part: rendered }];
  const parts = Map.groupBy(rendered, ({ target }) => target.clusterId);
  return [...parts].map(([clusterId, part]) => ({ target: { mode: 'pull', clusterId }, part }));
}
