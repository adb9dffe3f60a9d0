import { Type, type Static } from 'typebox';
import { Condition, ResourceRef, Timestamp } from './condition.ts';

/** What a job asks for (specification, "Job"). */
export const JOB_KINDS = ['apply', 'delete', 'intent'] as const;
export type JobKind = (typeof JOB_KINDS)[number];

export const JOB_OUTCOMES = ['succeeded', 'failed', 'noop', 'conflict'] as const;
export type JobOutcome = (typeof JOB_OUTCOMES)[number];

/** Phases that our operator reports; others are stored as they are (decisions, "Jobs"). */
export const JOB_PHASES = ['Accepted', 'Applying', 'Reconciling', 'Ready', 'Deleting', 'Failed'] as const;
export type JobPhase = (typeof JOB_PHASES)[number];

/** `error` of the `noop` that ends a job past its `expiresAt`. */
export const EXPIRED = 'expired';

/** Most bytes of a status or result (decisions give none: as a post of events). */
export const MAX_JOB_BODY_BYTES = 1_048_576;

/**
 * One job as it travels. Exactly one of `payload` (apply: a whole manifest; delete: an object reference; intent: an
 * `IntentRecord`) and `encryptedPayload` (its JSON as compact JWE to the cluster's key) is there.
 */
export const Job = Type.Object({
  id: Type.String({ minLength: 1, maxLength: 128 }),
  kind: Type.Unsafe<JobKind>({ type: 'string', enum: [...JOB_KINDS] }),
  payload: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
  encryptedPayload: Type.Optional(Type.String({ minLength: 1 })),
  idempotencyKey: Type.String({ minLength: 1, maxLength: 1024 }),
  createdAt: Timestamp,
  expiresAt: Timestamp,
  /** Compact detached JWS (EdDSA, `b64: false`) over the RFC 8785 form of the plain payload. */
  signature: Type.Optional(Type.String({ minLength: 1 })),
  /** With `generation` the order on the wire. Absent from other control planes. */
  deliveryEpoch: Type.Optional(Type.Integer({ minimum: 0 })),
  generation: Type.Optional(Type.Integer({ minimum: 0 })),
  /** The intent behind it, so that reports name it. */
  intentId: Type.Optional(Type.String({ minLength: 1, maxLength: 128 })),
});
export type Job = Static<typeof Job>;

/**
 * The order of a job within its payload, and so under its signature: `<delivery epoch>.<generation>`. Absent from other
 * control planes.
 */
export const PayloadSource = Type.String({ pattern: String.raw`^(0|[1-9]\d{0,14})\.(0|[1-9]\d{0,14})$` });

/** Payload of a `delete` job. `uid` where the control plane has been told it: then only that incarnation goes. */
export const DeletePayload = Type.Object({
  apiVersion: Type.String({ minLength: 1 }),
  kind: Type.String({ minLength: 1 }),
  namespace: Type.String({ minLength: 1 }),
  name: Type.String({ minLength: 1 }),
  uid: Type.Optional(Type.String({ minLength: 1 })),
  source: Type.Optional(PayloadSource),
});
export type DeletePayload = Static<typeof DeletePayload>;

/** Answer of `GET /api/agent/jobs`. A job that cannot be read must not hide the others, so they are parsed one by one. */
export const JobsResponse = Type.Object({ jobs: Type.Array(Type.Unknown()) });
export type JobsResponse = Static<typeof JobsResponse>;

/** Body of `POST /api/agent/jobs/{jobId}/status`. */
export const JobStatus = Type.Object({
  phase: Type.String({ minLength: 1, maxLength: 64 }),
  conditions: Type.Optional(Type.Array(Condition, { maxItems: 64 })),
  message: Type.Optional(Type.String({ maxLength: 32_768 })),
  timestamp: Type.Optional(Timestamp),
});
export type JobStatus = Static<typeof JobStatus>;

/** Body of `POST /api/agent/jobs/{jobId}/result`. `error` is required for `failed`, checked besides the schema. */
export const JobResult = Type.Object({
  outcome: Type.Unsafe<JobOutcome>({ type: 'string', enum: [...JOB_OUTCOMES] }),
  error: Type.Optional(Type.String({ maxLength: 32_768 })),
  appliedRef: Type.Optional(ResourceRef),
  /** With a `noop` because the cluster has seen a newer pair of the object: that pair. Our operator adds it. */
  source: Type.Optional(
    Type.Object({
      epoch: Type.Integer({ minimum: 0 }),
      generation: Type.Integer({ minimum: 0 }),
      intentId: Type.Optional(Type.String({ maxLength: 128 })),
    }),
  ),
  timestamp: Type.Optional(Timestamp),
});
export type JobResult = Static<typeof JobResult>;
