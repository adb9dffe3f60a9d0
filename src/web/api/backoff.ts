/** Milliseconds until attempt number `attempt` (from 0): doubles up to `most`, with full jitter over its upper half. */
export function backoff(attempt: number, first: number, most: number, random = Math.random): number {
  const limit = Math.min(most, first * 2 ** Math.min(attempt, 16));
  return Math.round(limit / 2 + (limit / 2) * random());
}
