import { Reason } from '../resources/reasons.ts';
import type { PolicyViolation } from './policy-violation.ts';

const MOST_NAMED = 5;
const MAX_PATH = 200;

/**
 * An integer in the spec that a double does not hold: it was rounded when it was read, and the release would get another
 * number than was asked for. The API server keeps it whole, so nobody else would tell.
 */
export function integerIsNotExact({ spec }: { readonly spec: unknown }): readonly PolicyViolation[] {
  const found: string[] = [];
  const rest: { readonly path: string; readonly value: unknown }[] = [{ path: 'spec', value: spec }];
  for (let next = rest.pop(); next !== undefined; next = rest.pop()) {
    const { path, value } = next;
    if (typeof value === 'number' && Number.isInteger(value) && !Number.isSafeInteger(value)) found.push(path);
    if (typeof value !== 'object' || value === null) continue;
    const members = Array.isArray(value)
      ? value.map((item: unknown, index) => ({ path: `${path}[${index}]`, value: item }))
      : Object.entries(value).map(([key, member]: [string, unknown]) => ({ path: `${path}.${key}`, value: member }));
    for (const member of members.reverse()) rest.push(member);
  }
  const more = found.length - MOST_NAMED;
  return found.slice(0, MOST_NAMED).map((path, index) => {
    const others = more > 0 && index === MOST_NAMED - 1 ? ` (and ${more} more like it)` : '';
    const shown = path.length <= MAX_PATH ? path : `${path.slice(0, MAX_PATH - 1)}…`;
    const words = `the integer is beyond ±(2^53−1); send it as a string${others}`;
    return {
      reason: Reason.SpecInvalid,
      message: `${shown}: ${words}`,
      fault: { path: pointerTo(path), message: words },
    };
  });
}

/** As a JSON pointer below the spec; of names with dots in them the nearest that it can say. */
function pointerTo(path: string): string {
  return path
    .replace(/^spec/, '')
    .replaceAll(/\[(\d+)\]/g, '.$1')
    .replaceAll('.', '/');
}
