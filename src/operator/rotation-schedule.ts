/** What decides when a credential is replaced; times as RFC 3339, absent where nobody said so. */
export interface RotationTimes {
  /** As it came with the credential. */
  readonly rotateAfter?: string | undefined;
  /** As the control plane says it by now: an admin's request is a time in the past. */
  readonly configured?: string | undefined;
  readonly expiresAt?: string | undefined;
}

/** However late it is asked for, a credential is replaced so long before its end. */
const BEFORE_EXPIRY_MS = 3_600_000;
/** Up to so long past, it was asked for just now, of a few clusters or of a fleet. */
const JUST_NOW_MS = 120_000;
const JITTER_MS = 3000;
/** Over so long a fleet spreads that was due while nobody could be asked. */
const SPREAD_MS = 600_000;

/**
 * When the credential is to be replaced, in milliseconds of the epoch; undefined: nobody said. The earlier of what came with
 * it and what is said now, before its end in any case, and later by a share `spread` in [0, 1) of a time that depends on how
 * late it is: the fleet that is back after an outage must not rotate within one second.
 *
 * @param now when this was first looked at, for as long as the times do not change
 */
export function rotationDue(times: RotationTimes, now: number, spread: number): number | undefined {
  const expires = timeOf(times.expiresAt);
  const wished = [times.rotateAfter, times.configured].map(timeOf).filter((time) => time !== undefined);
  const latest = expires === undefined ? [] : [expires - BEFORE_EXPIRY_MS];
  const all = [...wished, ...latest];
  if (all.length === 0) return undefined;
  const due = Math.min(...all);
  const late = now - due;
  if (late <= JUST_NOW_MS) return Math.max(due, now) + Math.round(spread * JITTER_MS);
  // Half of what is left is kept for tries that fail.
  const left = expires === undefined ? SPREAD_MS : Math.max(0, (expires - now) / 2);
  return now + Math.round(spread * Math.min(SPREAD_MS, left));
}

function timeOf(text: string | undefined): number | undefined {
  const time = text === undefined ? Number.NaN : Date.parse(text);
  return Number.isNaN(time) ? undefined : time;
}
