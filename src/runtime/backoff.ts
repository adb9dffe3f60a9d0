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

/** At most so much is added to a wait that a server named. */
const LONGEST_SPREAD_MS = 60_000;

/**
 * The wait where a server may have named one (`Retry-After`), in milliseconds: no shorter than either, and up to twice what
 * was named. A server that comes back names the same to everybody, and without that they would all return in one instant.
 *
 * @param askedMs what the server named
 * @param ownMs what would be waited without
 */
export function askedWaitMs(askedMs: number | undefined, ownMs: number, random: () => number): number {
  if (askedMs === undefined || askedMs === 0) return ownMs;
  return Math.max(ownMs, Math.round(askedMs + random() * Math.min(askedMs, LONGEST_SPREAD_MS)));
}
