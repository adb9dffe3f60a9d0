import type { DeliveryItem } from '../../delivery.ts';

/** Manifests in one push: a huge one takes seconds to send and to check, in which everybody waits. */
const MAX_BYTES = 4 * 1024 * 1024;

/**
 * Parts a batch into pushes of at most `maxItems` intents and some 4 MiB. Where one is not enough the clusters take turns,
 * so that nobody's first intent comes after a huge cluster's last; each cluster's own stay in their order.
 */
export function pushesOf(batch: readonly DeliveryItem[], maxItems: number): readonly (readonly DeliveryItem[])[] {
  if (fits(batch, maxItems)) return batch.length === 0 ? [] : [batch];
  const queues = [...Map.groupBy(batch, ({ target }) => target.clusterId).values()];
  const longest = Math.max(...queues.map(({ length }) => length));
  const inTurns = Array.from({ length: longest }, (_, turn) =>
    queues.flatMap((queue) => queue.slice(turn, turn + 1)),
  ).flat();
  const pushes: DeliveryItem[][] = [];
  let push: DeliveryItem[] = [];
  for (const item of inTurns) {
    if (push.length > 0 && !fits([...push, item], maxItems)) {
      pushes.push(push);
      push = [];
    }
    push.push(item);
  }
  return [...pushes, push];
}

function fits(items: readonly DeliveryItem[], maxItems: number): boolean {
  let bytes = 0;
  for (const { text } of items) bytes += text.length;
  return items.length <= maxItems && bytes <= MAX_BYTES;
}
