/** Exponential backoff with full jitter above a floor. */
export interface BackoffPolicy {
  /** Shortest wait, in milliseconds. Never undercut, whatever the jitter. */
  readonly minMs: number;
  /** Longest wait, in milliseconds. */
  readonly maxMs: number;
}

/**
 * The wait before attempt number `attempt` (1 = the first retry), in milliseconds.
 *
 * @param random a number in [0, 1), passed in so that a test can fix it
 */
export function backoffMs(policy: BackoffPolicy, attempt: number, random: () => number): number {
  const ceiling = Math.min(policy.maxMs, policy.minMs * 2 ** Math.min(attempt, 30));
  return Math.round(policy.minMs + random() * Math.max(0, ceiling - policy.minMs));
}
