import type { JobKind } from './job.ts';

/**
 * Whether a job's payload holds chart values in the clear: what is encrypted, and refused in the clear, where
 * `requireEncryptedSecretPayloads` is on (specification, "Optional payload signing and encryption"). Values that are sealed
 * already do not count.
 */
export function holdsChartValues(kind: JobKind, payload: Readonly<Record<string, unknown>>): boolean {
  if (kind === 'delete') return false;
  const holder = kind === 'apply' ? payload['spec'] : payload;
  if (typeof holder !== 'object' || holder === null) return false;
  // Parameters of an operation are to its template what values are to a chart.
  return ['values', 'parameters'].some((member) => isFilled((holder as Readonly<Record<string, unknown>>)[member]));
}

function isFilled(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Object.keys(value).length > 0;
}
