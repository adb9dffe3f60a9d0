import type { Outcome } from '../delivery/delivery.ts';
import type { Reason } from '../resources/reasons.ts';

/** An outcome that says why nothing was written. */
export type Refusal = Extract<Outcome, { readonly reason: string }>;

export function refused(reason: Reason, message: string): Refusal {
  return { state: 'refused', reason, message };
}

export function stale(reason: Reason, message: string): Refusal {
  return { state: 'stale', reason, message };
}

export function failed(reason: Reason, message: string, isLasting = false): Refusal {
  return { state: 'failed', reason, message, ...(isLasting ? { isLasting } : {}) };
}

export function conflict(reason: Reason, message: string): Refusal {
  return { state: 'conflict', reason, message };
}
