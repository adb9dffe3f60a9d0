export const JOB_STATES = ['pending', 'delivered', 'acknowledged', 'closed'] as const;
export type JobState = (typeof JOB_STATES)[number];

export interface JobRow {
  id: string;
  /** Of its cluster, set by `insertJob`. */
  organization_id?: string | null | undefined;
  cluster_id: string;
  intent_id: string;
  kind: 'apply' | 'delete' | 'intent';
  /** The object that it is about. */
  target_kind: string;
  namespace: string;
  name: string;
  generation: number;
  delivery_epoch: number;
  idempotency_key: string;
  /** JSON, in the clear: it holds no secret but sealed ones. Signed and encrypted as it is handed out. */
  payload: string;
  state: JobState;
  created_at: string;
  expires_at: string;
  delivered_at: string | null;
  acknowledged_at: string | null;
  closed_at: string | null;
  phase: string | null;
  status_message: string | null;
  /** JSON array of conditions. */
  status_conditions: string | null;
  status_at: string | null;
  outcome: 'succeeded' | 'failed' | 'noop' | 'conflict' | null;
  error: string | null;
  /** JSON `ResourceRef`. */
  applied_ref: string | null;
}

/**
 * A generation of an object that the cluster reported and no intent here has: this control plane was restored from an older
 * backup. Numbering goes on above it.
 */
export interface ReportedGenerationRow {
  cluster_id: string;
  target_kind: string;
  namespace: string;
  name: string;
  generation: number;
  delivery_epoch: number;
  /** The intent that made it, where the cluster said so; nothing else is known of it. */
  intent_id: string | null;
  reported_at: string;
}
