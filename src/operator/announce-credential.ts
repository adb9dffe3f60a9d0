import { directEventKey } from '../protocol/event-key.ts';
import type { AgentEvent, EventSource } from '../protocol/event.ts';
import type { Condition, ResourceRef } from '../protocol/condition.ts';
import { findCondition, type NewCondition } from '../resources/conditions.ts';
import { Reason } from '../resources/reasons.ts';
import type { CredentialOrigin } from './credential-keeper.ts';
import type { Credentials } from './credentials.ts';

export interface Announcement {
  readonly condition?: NewCondition;
  /** For `POST /api/agent/events`. */
  readonly event?: AgentEvent;
  /** For the cluster's own events. */
  readonly record?: { readonly type: 'Normal' | 'Warning'; readonly reason: string; readonly message: string };
}

export interface AnnouncementInput {
  readonly credentials: Pick<Credentials, 'rotatedAt' | 'expiresAt'>;
  readonly origin: CredentialOrigin;
  readonly ref: ResourceRef;
  readonly source: EventSource;
  readonly conditions: readonly Condition[];
  readonly now: Date;
}

/** So long after a rotation a restarted operator tells of it again, in case the one before it could not. */
const TOLD_AGAIN_MS = 86_400_000;

/**
 * What is told of a credential that is used from now on (specification, "Credential rotation", step 4). All of it follows from
 * what stands in the Secret, so a second telling after a crash is a replay of the first and recorded once.
 */
export function announceCredential(input: AnnouncementInput): Announcement {
  const { credentials, origin, conditions, now } = input;
  const { rotatedAt } = credentials;
  const end = credentials.expiresAt === undefined ? '' : ` It ends at ${credentials.expiresAt}.`;
  if (origin === 'recovered') {
    const message = `The control plane did not know the credential any more and gave another, sealed to this cluster's key.${end}`;
    const reason = Reason.CredentialRecovered;
    return {
      condition: { type: 'Authenticated', status: 'True', reason, message },
      record: { type: 'Warning', reason, message },
    };
  }
  if (rotatedAt === undefined) return {};
  const reason = Reason.CredentialRotated;
  const message = `The credential was rotated.${end}`;
  const condition = { type: 'Authenticated', status: 'True', reason, message, lastTransitionTime: rotatedAt } as const;
  const event = rotationEvent(input, condition);
  if (origin === 'rotated') return { condition, event, record: { type: 'Normal', reason, message } };
  if (now.getTime() - Date.parse(rotatedAt) > TOLD_AGAIN_MS) return {};
  const told = findCondition(conditions, 'Authenticated');
  const isOlder = told?.status === 'True' && (told.lastTransitionTime ?? '') < rotatedAt;
  return isOlder ? { condition, event } : { event };
}

function rotationEvent({ ref, source, now }: AnnouncementInput, condition: Condition): AgentEvent {
  const observed = ref.generation === undefined ? {} : { observedGeneration: ref.generation };
  return {
    eventKey: directEventKey('CredentialRotated', ref.uid ?? '', condition.type),
    kind: 'CredentialRotated',
    resourceRef: ref,
    conditions: [{ ...condition, ...observed }],
    timestamp: now.toISOString(),
    source,
  };
}
