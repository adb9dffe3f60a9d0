const UNITS = [
  ['d', 86_400],
  ['h', 3600],
  ['m', 60],
] as const;

/** As the command line takes it: `4h`, `15m`, `90s`. */
export function durationText(seconds: number): string {
  const unit = UNITS.find(([, length]) => seconds > 0 && seconds % length === 0);
  return unit === undefined ? `${seconds}s` : `${seconds / unit[1]}${unit[0]}`;
}
