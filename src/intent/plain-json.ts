import { AppError } from '../protocol/app-error.ts';
import { setOwn } from '../protocol/own-property.ts';
import { toJsonPointer } from '../protocol/strict-json.ts';

const MAX_DEPTH = 64;

/**
 * What a YAML parser gave (integers as bigint), as the JSON value that the API server would get.
 *
 * @throws AppError `constraint_violated` with the place of what JSON cannot hold: a date, binary, a set, an infinity, an
 *   integer that a double would round, a lone surrogate, nesting beyond 64
 */
export function plainJson(value: unknown, path: readonly (string | number)[] = []): unknown {
  if (path.length > MAX_DEPTH) refuse(path, `is nested deeper than ${MAX_DEPTH} levels`);
  if (value === null || typeof value === 'boolean') return value;
  if (typeof value === 'string') {
    return value.isWellFormed() ? value : refuse(path, 'holds a lone surrogate');
  }
  if (typeof value === 'bigint') {
    const number = Number(value);
    return Number.isSafeInteger(number) ? number : refuse(path, 'is an integer beyond ±(2^53−1); put it in quotes');
  }
  if (typeof value === 'number') {
    if (!Number.isFinite(value)) refuse(path, 'is not a finite number; put it in quotes');
    return value === 0 ? 0 : value;
  }
  if (Array.isArray(value)) return value.map((item, index) => plainJson(item ?? null, [...path, index]));
  if (typeof value === 'object' && Object.getPrototypeOf(value) === Object.prototype) {
    const copy: Record<string, unknown> = {};
    for (const [name, member] of Object.entries(value)) setOwn(copy, name, plainJson(member ?? null, [...path, name]));
    return copy;
  }
  return refuse(path, 'is a kind of value that JSON does not have; put it in quotes');
}

function refuse(path: readonly (string | number)[], message: string): never {
  const pointer = toJsonPointer(path);
  const shown = pointer.length <= 200 ? pointer : `${pointer.slice(0, 200).toWellFormed()}…`;
  throw new AppError('constraint_violated', `${shown === '' ? 'the document' : `${shown}:`} ${message}`, {
    faults: [{ path: pointer, message }],
  });
}
