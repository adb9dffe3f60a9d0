import { createHash } from 'node:crypto';
import { canonicalJson } from '../../protocol/canonical-json.ts';
import type { Condition, ResourceRef } from '../../protocol/condition.ts';
import type { AgentEvent } from '../../protocol/event.ts';
import { eventOrderKey } from '../../protocol/event-order.ts';
import type { FoldedCondition } from './ingest-store.ts';

/**
 * Of all conditions in a batch, the latest per resource and type: what could become current status. "Latest" is by the
 * events' own order, so the batch may hold them in any.
 */
export function foldEvents(events: readonly AgentEvent[]): FoldedCondition[] {
  const latest = new Map<string, FoldedCondition>();
  for (const event of events) {
    const uid = resourceKey(event.resourceRef);
    for (const condition of event.conditions) {
      const orderKey = totalOrderKey(event, condition);
      const key = `${condition.type}\n${uid}`;
      const known = latest.get(key);
      if (known === undefined || known.orderKey < orderKey) latest.set(key, { uid, event, condition, orderKey });
    }
  }
  return [...latest.values()];
}

/** The resource's uid, or `<kind>/<namespace>/<name>` for one that is reported without. */
export function resourceKey(ref: ResourceRef): string {
  return ref.uid === undefined || ref.uid === '' ? `${ref.kind}/${ref.namespace ?? ''}/${ref.name}` : ref.uid;
}

/**
 * Events without `sequence` can tie: Kubernetes' times have whole seconds. A digest of the content settles it, so that
 * the outcome is the same in whatever order the two arrive.
 */
function totalOrderKey(event: AgentEvent, condition: Condition): string {
  const order = eventOrderKey(event, condition);
  if (event.sequence !== undefined) return order;
  const { status, reason = '', message = '' } = condition;
  const digest = createHash('sha256')
    .update(canonicalJson([status, reason, message]))
    .digest('hex');
  return `${order}|${digest.slice(0, 16)}`;
}
