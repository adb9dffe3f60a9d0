import { Type, type Static } from 'typebox';
import { Condition, ResourceRef, Timestamp } from './condition.ts';
import { ConnectivityMode } from './connectivity-mode.ts';

/** Most events in one post, and most bytes (decisions, "Events"). */
export const MAX_EVENTS_PER_POST = 500;
export const MAX_EVENT_POST_BYTES = 1_048_576;

/**
 * Every event kind of the protocol: the kinds of resource it may be about, and when it becomes a durable audit entry
 * (`always`, `never`, or by the high-signal rule of the specification's "Events").
 */
export const EVENT_KINDS = {
  ConditionTransition: { about: ['ApplicationInstance', 'Operation', 'Cluster'], audit: 'high-signal' },
  CredentialRotated: { about: ['Cluster'], audit: 'always' },
  OperationAccepted: { about: ['Operation'], audit: 'always' },
  OperationBlocked: { about: ['Operation'], audit: 'always' },
  OperationRunning: { about: ['Operation'], audit: 'always' },
  OperationSucceeded: { about: ['Operation'], audit: 'always' },
  OperationFailed: { about: ['Operation'], audit: 'always' },
  JobPayloadSignatureInvalid: { about: ['Cluster'], audit: 'always' },
  JobPayloadDecryptionFailed: { about: ['Cluster'], audit: 'always' },
  ClusterHeartbeat: { about: ['Cluster'], audit: 'never' },
} as const satisfies Record<string, { about: readonly string[]; audit: 'always' | 'never' | 'high-signal' }>;
export type EventKind = keyof typeof EVENT_KINDS;

/** What made the reported state: which intent, by which way, at which revision. Our operator adds it to each event. */
export const EventSource = Type.Object({
  mode: Type.Optional(ConnectivityMode),
  epoch: Type.Optional(Type.Integer({ minimum: 0 })),
  revision: Type.Optional(Type.String({ maxLength: 256 })),
  intentId: Type.Optional(Type.String({ maxLength: 128 })),
  generation: Type.Optional(Type.Integer({ minimum: 0 })),
});
export type EventSource = Static<typeof EventSource>;

/** One event. Additional fields are tolerated (specification, Endpoints rule 8). */
export const AgentEvent = Type.Object({
  eventKey: Type.String({ minLength: 1, maxLength: 1024 }),
  kind: Type.Unsafe<EventKind>({ type: 'string', enum: Object.keys(EVENT_KINDS) }),
  resourceRef: ResourceRef,
  conditions: Type.Array(Condition, { minItems: 1, maxItems: 64 }),
  timestamp: Type.Optional(Timestamp),
  /** `<lease transitions>.<persisted counter>`: grows for ever; the fold orders by it. */
  sequence: Type.Optional(Type.String({ pattern: '^\\d{1,15}\\.\\d{1,15}$' })),
  source: Type.Optional(EventSource),
});
export type AgentEvent = Static<typeof AgentEvent>;

/** Body of `POST /api/agent/events`. */
export const EventsRequest = Type.Object({
  cluster_id: Type.Optional(Type.String({ maxLength: 64 })),
  events: Type.Array(AgentEvent, { maxItems: MAX_EVENTS_PER_POST }),
});
export type EventsRequest = Static<typeof EventsRequest>;
