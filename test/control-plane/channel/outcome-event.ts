import type { Condition } from '../../../src/protocol/condition.ts';
import { conditionTransitionKey } from '../../../src/protocol/event-key.ts';
import type { AgentEvent } from '../../../src/protocol/event.ts';

export const INSTANCE = {
  apiVersion: 'apps.service.io/v1alpha1',
  kind: 'ApplicationInstance',
  namespace: 'shop',
  name: 'podinfo',
  uid: 'app-uid',
  generation: 1,
};

export const CLUSTER = {
  apiVersion: 'ops.service.io/v1alpha1',
  kind: 'Cluster',
  namespace: 'service-system',
  name: 'prod-eu',
  uid: 'cluster-uid',
};

let minute = 0;

/** A transition of its own minute, unless `more` says when. */
export function outcome(
  condition: Partial<Condition> & { readonly reason: string },
  more: Partial<AgentEvent> = {},
): AgentEvent {
  minute += 1;
  const at = new Date(Date.parse('2026-03-01T10:00:00Z') + minute * 60_000 * 10).toISOString();
  const resourceRef = more.resourceRef ?? INSTANCE;
  const whole: Condition = { type: 'Ready', status: 'True', message: '', lastTransitionTime: at, ...condition };
  return {
    eventKey: conditionTransitionKey(resourceRef, whole),
    kind: 'ConditionTransition',
    conditions: [whole],
    timestamp: at,
    ...more,
    resourceRef,
  };
}
