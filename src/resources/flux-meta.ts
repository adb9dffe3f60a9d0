import type { Condition } from '../protocol/condition.ts';

/** Names an object in the same namespace. */
export interface LocalObjectReference {
  name: string;
}

/** What source-controller fetched. */
export interface Artifact {
  revision: string;
  digest?: string;
  url: string;
  path: string;
  lastUpdateTime: string;
  size?: number;
  metadata?: Record<string, string>;
}

/** Status fields that all Flux objects share. */
export interface FluxStatus {
  observedGeneration?: number;
  conditions?: Condition[];
  lastHandledReconcileAt?: string;
}

/** Asks a Flux controller to look now; any new value does. */
export const RECONCILE_REQUEST_ANNOTATION = 'reconcile.fluxcd.io/requestedAt';
/** With the same value as the request: an upgrade is made though nothing changed. Both of helm-controller alone. */
export const FORCE_REQUEST_ANNOTATION = 'reconcile.fluxcd.io/forceAt';
/** With the same value as the request: the failures counted so far are forgotten. */
export const RESET_REQUEST_ANNOTATION = 'reconcile.fluxcd.io/resetAt';
