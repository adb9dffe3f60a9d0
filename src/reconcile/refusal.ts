import type { Outcome } from '../delivery/delivery.ts';
import type { Reason } from '../resources/reasons.ts';
import type { SourcePair } from '../resources/source-annotation.ts';

/** An outcome that says why nothing was written. */
export type Refusal = Extract<Outcome, { readonly reason: string }>;

export function refused(reason: Reason, message: string): Refusal {
  return { state: 'refused', reason, message };
}

export function stale(reason: Reason, message: string, newer?: SourcePair): Refusal {
  return { state: 'stale', reason, message, ...(newer === undefined ? {} : { newer }) };
}

export function failed(reason: Reason, message: string, isLasting = false): Refusal {
  return { state: 'failed', reason, message, ...(isLasting ? { isLasting } : {}) };
}

export function conflict(reason: Reason, message: string): Refusal {
  return { state: 'conflict', reason, message };
}
