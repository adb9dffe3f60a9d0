import { createHash } from 'node:crypto';
import { canonicalJson } from './canonical-json.ts';
import type { Condition, ResourceRef } from './condition.ts';
import type { AgentEvent, EventKind } from './event.ts';

/**
 * `condition/<apiVersion>/<kind>/<namespace>/<name>/<uid>/<type>/<status>@<generation>` (specification, "Event").
 * What is absent is an empty segment.
 */
export function conditionTransitionKey(ref: ResourceRef, condition: Pick<Condition, 'type' | 'status'>): string {
  const { apiVersion, kind, namespace = '', name, uid = '', generation = '' } = ref;
  return `condition/${apiVersion}/${kind}/${namespace}/${name}/${uid}/${condition.type}/${condition.status}@${generation}`;
}

/** `ClusterHeartbeat/<uid>@<timestamp>`. */
export function heartbeatKey(uid: string, timestamp: string): string {
  return `ClusterHeartbeat/${uid}@${timestamp}`;
}

/** `<kind>/<uid>/<last>`: `last` is the condition's type, or a job id for the `JobPayload…` kinds. */
export function directEventKey(
  kind: Exclude<EventKind, 'ConditionTransition' | 'ClusterHeartbeat'>,
  uid: string,
  last: string,
): string {
  return `${kind}/${uid}/${last}`;
}

/**
 * Tells a replay from a new event under the same key: hex SHA-256 over each condition's `lastTransitionTime`, `reason`
 * and `message`, by type whatever their order. The event's own timestamp does not matter (decisions, "Events").
 */
export function eventFingerprint(event: Pick<AgentEvent, 'conditions'>): string {
  const parts = event.conditions
    .map(({ type, lastTransitionTime, reason, message }) =>
      canonicalJson([type, lastTransitionTime ?? null, reason ?? null, message ?? null]),
    )
    .sort();
  return createHash('sha256').update(parts.join('\n'), 'utf8').digest('hex');
}
