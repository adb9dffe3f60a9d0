import type { StatusChange, Reporter } from '../events/report/reporter.ts';
import type { ClusterApi } from '../kube/cluster-api.ts';
import type { KubeObject } from '../resources/kube-object.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Logger } from '../runtime/logger.ts';
import type { ClusterPolicy } from './cluster-policy.ts';
import type { Inventory } from './inventory.ts';

/** Emits cluster events (`kubectl get events`); they stay in the cluster. Never throws, never blocks a reconcile. */
export interface ClusterEventRecorder {
  record(about: KubeObject, event: { type: 'Normal' | 'Warning'; reason: string; message: string }): void;
}

export interface ReconcilerDeps {
  readonly api: ClusterApi;
  /** Knows the revision that brought each object: status and events name it. */
  readonly inventory: Inventory;
  readonly reporter: Reporter;
  readonly recorder?: ClusterEventRecorder;
  readonly clock: Clock;
  readonly random: () => number;
  readonly logger: Logger;
  readonly policy: () => ClusterPolicy;
  /** Registers a callback: everything is looked at again when the policy changes. */
  readonly onPolicyChange?: (listener: () => void) => void;
}

export interface Reconciler extends AsyncDisposable {
  /** Resolves once every informer has its first list. */
  synced(signal?: AbortSignal): Promise<void>;
  /** Current conditions of every ApplicationInstance and Operation (`before` empty): what a full snapshot sends. */
  snapshot(): readonly StatusChange[];
}

/** Starts the ApplicationInstance and Operation controllers; dispose to stop them. */
export function startReconciler(_deps: ReconcilerDeps): Reconciler {
  throw new Error('not written yet');
}
