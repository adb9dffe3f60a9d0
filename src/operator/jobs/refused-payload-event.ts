import type { PayloadRefusal } from '../../delivery/pull/job-payload.ts';
import type { ResourceRef } from '../../protocol/condition.ts';
import { directEventKey } from '../../protocol/event-key.ts';
import type { AgentEvent, EventSource } from '../../protocol/event.ts';
import type { Job } from '../../protocol/job.ts';

/** The audit event of a payload that does not verify or does not open (specification, "Endpoints", rules 5 and 6). */
export function refusedPayloadEvent(
  kind: NonNullable<PayloadRefusal['event']>,
  { id, idempotencyKey }: Pick<Job, 'id' | 'idempotencyKey'>,
  cluster: { readonly ref: ResourceRef; readonly source: EventSource },
  message: string,
  now: Date,
): AgentEvent {
  const at = now.toISOString();
  return {
    eventKey: directEventKey(kind, cluster.ref.uid ?? '', id),
    kind,
    resourceRef: cluster.ref,
    conditions: [
      {
        type: kind,
        status: 'True',
        reason: kind,
        message: `job ${id} (${idempotencyKey}): ${message}`,
        lastTransitionTime: at,
      },
    ],
    timestamp: at,
    source: cluster.source,
  };
}
