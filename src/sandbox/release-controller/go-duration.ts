const UNITS: Readonly<Record<string, number>> = { h: 3_600_000, m: 60_000, s: 1_000, ms: 1 };

/** Milliseconds of a Go duration such as `1h30m` or `5m0s`; 0 for anything else. */
export function milliseconds(duration: string): number {
  if (!/^(\d+(\.\d+)?(ms|h|m|s))+$/.test(duration)) return 0;
  let sum = 0;
  for (const [, amount, unit] of duration.matchAll(/(\d+(?:\.\d+)?)(ms|h|m|s)/g)) {
    sum += Number(amount) * (UNITS[unit ?? ''] ?? 0);
  }
  return sum;
}

/** As Go prints it: `5m0s`, `1h0m0s`, `90ms`. */
export function goDuration(ms: number): string {
  if (ms < 1_000) return ms === 0 ? '0s' : `${ms}ms`;
  const hours = Math.floor(ms / 3_600_000);
  const minutes = Math.floor((ms % 3_600_000) / 60_000);
  const seconds = (ms % 60_000) / 1_000;
  if (hours > 0) return `${hours}h${minutes}m${seconds}s`;
  return minutes > 0 ? `${minutes}m${seconds}s` : `${seconds}s`;
}
