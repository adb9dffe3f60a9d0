import type { ConnectivityMode } from '../../protocol/connectivity-mode.ts';

/** What the control plane writes to a cluster's API server with in push mode. */
export interface PushCredentialRow {
  id: string;
  cluster_id: string;
  /** `candidate`: given with a switch that has not fenced off the old way yet; `current`: the one that is used. */
  state: 'candidate' | 'current' | 'revoked';
  /** Address of the API server. */
  server: string;
  /** JSON `PushCredentialInfo`: who it is, how it is proven, whether it can be renewed. Nothing secret. */
  info: string;
  /** Compact JWE under the master key: the kubeconfig as it is used now; null once it is revoked. */
  credential_sealed: string | null;
  created_by: string;
  created_at: string;
  /** null: does not say. */
  expires_at: string | null;
  /** When it is renewed, or looked at whether it can be; null: never, as it does not end or is no token of an account. */
  renew_at: string | null;
  renewed_at: string | null;
  /** Why it could not be renewed the last time. */
  renewal_fault: string | null;
  /** JSON `PushProbe`: what the last probe found, and when. */
  probe: string | null;
  /** JSON `PushReach`: how the last write or look went. */
  reach: string | null;
  revoked_at: string | null;
  revoked_reason: string | null;
}

export const SWITCH_STATES = [
  'requested',
  'probing',
  'fencing',
  'handing-over',
  'confirming',
  'rolling-back',
  'active',
  'rolled-back',
] as const;
/** What is being done for it. */
export const SWITCH_PHASES = ['requested', 'probing', 'fencing', 'handing-over', 'confirming', 'over'] as const;
export type SwitchState = (typeof SWITCH_STATES)[number];

/** One move of a cluster from one mode to another. */
export interface ModeSwitchRow {
  id: string;
  organization_id: string;
  cluster_id: string;
  from_mode: ConnectivityMode;
  to_mode: ConnectivityMode;
  state: SwitchState;
  /** What is being done; differs from `state` while it rolls back. */
  phase: (typeof SWITCH_PHASES)[number];
  phase_since: string;
  /** JSON `SwitchOptions`: what was asked for, without secrets. */
  options: string;
  /** JSON `BeforeSwitch`: the cluster's Git settings before the switch, to go back to. */
  before: string | null;
  push_credential_id: string | null;
  /** The delivery epoch that was raised for it, and raised again when it rolls back; null before the fence. */
  epoch: number | null;
  /** JSON `SwitchStep[]`, the oldest first. */
  steps: string;
  /** JSON `SwitchProbe[]`. */
  probes: string | null;
  /** JSON `CredentialChange[]`. */
  credentials: string | null;
  /** JSON: objects that are not handed over, and why. */
  objects_left: string | null;
  /** Why it rolls, or rolled, back. */
  reason: string | null;
  cancelled_by: string | null;
  requested_by: string;
  requested_at: string;
  finished_at: string | null;
  /** The cluster's id while it is not over: unique. */
  open_for: string | null;
}

/**
 * One object that a switch brings by the new way: the intent that made it what it is, delivered once more under the new
 * epoch. The intent itself keeps its state and its receipt.
 */
export interface ModeHandoverRow {
  switch_id: string;
  cluster_id: string;
  /** That it is delivered under; rows of an earlier epoch than the cluster's are history. */
  epoch: number;
  intent_id: string;
  target_kind: string;
  namespace: string;
  name: string;
  generation: number;
  action: 'install' | 'update' | 'uninstall' | 'operate';
  state: 'pending' | 'delivered' | 'confirmed' | 'refused' | 'dropped';
  reason: string | null;
  /** JSON `{commit?, revision?, jobId?, fieldManager?}`. */
  receipt: string | null;
  delivered_at: string | null;
  confirmed_at: string | null;
}
