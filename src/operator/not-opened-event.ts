import type { ResourceRef } from '../protocol/condition.ts';
import { directEventKey } from '../protocol/event-key.ts';
import type { AgentEvent, EventSource } from '../protocol/event.ts';
import type { ApplicationInstance } from '../resources/application-instance.ts';
import { intentIdOf } from '../resources/intent-ids.ts';

const KIND = 'JobPayloadDecryptionFailed';

/**
 * The audit event of sealed values that do not open. They came with a job or by Git alike, so the intent stands where the
 * job's id does.
 */
export function notOpenedEvent(
  instance: ApplicationInstance,
  cluster: { readonly ref: ResourceRef; readonly source: EventSource },
  message: string,
  now: Date,
): AgentEvent {
  const { namespace = '', name, uid = '' } = instance.metadata;
  const at = now.toISOString();
  const said = `ApplicationInstance ${namespace}/${name}: ${message}`;
  return {
    eventKey: directEventKey(KIND, cluster.ref.uid ?? '', intentIdOf(instance) ?? uid),
    kind: KIND,
    resourceRef: cluster.ref,
    conditions: [{ type: KIND, status: 'True', reason: KIND, message: said, lastTransitionTime: at }],
    timestamp: at,
    source: cluster.source,
  };
}
