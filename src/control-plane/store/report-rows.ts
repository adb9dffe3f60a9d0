import type { Generated } from 'kysely';

export interface EventRow {
  seq: Generated<number>;
  cluster_id: string;
  event_key: string;
  /** Tells a replay from another event under the same key: SHA-256 of each condition's transition time, reason, message. */
  fingerprint: string;
  kind: string;
  resource_ref: string;
  conditions: string;
  timestamp: string | null;
  sequence: string | null;
  source: string | null;
  received_at: string;
}

/** Current status: the fold of all events per resource uid and condition type. */
export interface ResourceConditionRow {
  cluster_id: string;
  uid: string;
  type: string;
  api_version: string;
  kind: string;
  namespace: string;
  name: string;
  status: string;
  reason: string | null;
  message: string | null;
  last_transition_time: string | null;
  generation: number | null;
  /** Sortable form of the event's `sequence`, or of (generation, transition time, timestamp) without one. */
  order_key: string;
  source: string | null;
  updated_at: string;
}

export interface AuditRow {
  id: Generated<number>;
  organization_id: string;
  at: string;
  source: 'agent' | 'user';
  kind: string;
  cluster_id: string | null;
  actor: string | null;
  summary: string;
  reason: string | null;
  event_seq: number | null;
  /** JSON of what a report is about. */
  resource_ref: string | null;
  /** Of a report, the intent that it names as its source. */
  intent_id: string | null;
}
