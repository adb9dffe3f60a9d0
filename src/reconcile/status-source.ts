import type { EventSource } from '../protocol/event.ts';
import { intentIdOf } from '../resources/intent-ids.ts';
import { refOf, type KubeObject } from '../resources/kube-object.ts';
import type { ClusterPolicy } from '../policy/cluster-policy.ts';
import type { Inventory } from './inventory.ts';
import { pairOf } from './source-pair.ts';

/** `status.source` of our kinds: the part of an event's source that is kept in the object. */
export type StatusSource = Pick<EventSource, 'mode' | 'revision' | 'intentId'>;

/** What brought the object's present spec: which intent, by which way, at which revision. */
export function sourceOf(
  object: KubeObject & { readonly status?: { readonly source?: StatusSource } },
  inventory: Inventory,
  policy: ClusterPolicy,
): EventSource {
  const pair = pairOf(object);
  const intentId = intentIdOf(object);
  const arrival = pair === undefined ? undefined : inventory.arrivalOf(refOf(object), pair);
  const before = object.status?.source;
  // The inventory may have been lost; for the same intent the status still knows, unless it was delivered once more since.
  const isOfNow = pair !== undefined && policy.isProjected !== false && pair.epoch >= policy.deliveryEpoch;
  const kept = before?.intentId === intentId ? before : undefined;
  const mode = arrival?.mode ?? (isOfNow ? policy.mode : (kept?.mode ?? policy.mode));
  const revision = arrival?.revision ?? (kept?.mode === mode ? kept.revision : undefined);
  return {
    mode,
    ...(pair === undefined ? {} : { epoch: pair.epoch, generation: pair.generation }),
    ...(revision === undefined ? {} : { revision }),
    ...(intentId === undefined ? {} : { intentId }),
  };
}

export function statusSourceOf({ mode, revision, intentId }: EventSource): StatusSource {
  return {
    ...(mode === undefined ? {} : { mode }),
    ...(revision === undefined ? {} : { revision }),
    ...(intentId === undefined ? {} : { intentId }),
  };
}
