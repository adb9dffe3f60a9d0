import type { ErrorCode, Fault } from '../protocol/app-error.ts';

export type { Fault } from '../protocol/app-error.ts';

/** A fault found by a check, with the code that it alone would be answered with. */
export interface Violation extends Fault {
  readonly code: Extract<ErrorCode, 'constraint_violated' | 'forbidden' | 'payload_too_large'>;
}

const LISTED = 20;

/** A list for a message: what is allowed, or that nothing is. */
export function listing(words: readonly string[]): string {
  if (words.length === 0) return 'none is allowed';
  const more = words.length > LISTED ? ` and ${words.length - LISTED} more` : '';
  return `allowed: ${words.slice(0, LISTED).join(', ')}${more}`;
}
