/** A whole set of times, not one number picked from it. */
export interface Figures {
  readonly count: number;
  readonly p50: number;
  readonly max: number;
}

/** The median (of an even count the mean of the two in the middle) and the maximum; null of nothing. */
export function figuresOf(values: readonly (number | null)[]): Figures | null {
  const known = values.filter((value) => value !== null).toSorted((a, b) => a - b);
  const max = known.at(-1);
  const upper = known[Math.floor(known.length / 2)];
  const lower = known[Math.ceil(known.length / 2) - 1];
  if (max === undefined || upper === undefined || lower === undefined) return null;
  return { count: known.length, p50: Math.round((lower + upper) / 2), max };
}
