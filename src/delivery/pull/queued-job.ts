import { intentIdempotencyKey } from '../../intent/intent-key.ts';
import type { Rendered } from '../../intent/rendered.ts';
import type { JobKind } from '../../protocol/job.ts';

/** What a job asks for, before the queue gives it an id and its times. */
export interface QueuedJob {
  readonly intentId: string;
  readonly kind: JobKind;
  readonly targetKind: string;
  readonly namespace: string;
  readonly name: string;
  readonly generation: number;
  readonly deliveryEpoch: number;
  readonly idempotencyKey: string;
  /** JSON. */
  readonly payload: string;
}

/**
 * The job of a rendered intent: `apply` with the whole manifest, `delete` with an object reference, or `intent` with the
 * record itself, which the operator renders.
 *
 * @param deliverIntents the cluster's setting
 */
export function queuedJob(rendered: Rendered, deliverIntents: boolean): QueuedJob {
  const { intent, target } = rendered;
  return {
    intentId: intent.id,
    targetKind: rendered.kind === 'apply' ? rendered.object.kind : rendered.tombstone.kind,
    namespace: intent.namespace,
    name: intent.name,
    generation: intent.generation,
    deliveryEpoch: target.deliveryEpoch,
    ...(deliverIntents
      ? { kind: 'intent', idempotencyKey: intentIdempotencyKey(intent), payload: JSON.stringify(intent) }
      : {
          kind: rendered.kind,
          idempotencyKey: rendered.idempotencyKey,
          payload: JSON.stringify(rendered.kind === 'apply' ? rendered.object : objectReference(rendered)),
        }),
  };
}

function objectReference({ tombstone }: Extract<Rendered, { kind: 'delete' }>): object {
  const { apiVersion, kind, namespace, name, uid } = tombstone;
  return { apiVersion, kind, namespace, name, ...(uid === undefined ? {} : { uid }) };
}
