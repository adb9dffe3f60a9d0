import { isObject } from './pointer.ts';

/**
 * What of `values` the defaults do not say anyway: so that a form which begins with what stands asks for no more than was
 * asked for, and a default that changes later goes on to count.
 */
export function withoutDefaults(values: unknown, defaults: unknown): unknown {
  if (isObject(values) && isObject(defaults)) {
    const own = Object.entries(values).flatMap(([name, value]) => {
      const rest = Object.hasOwn(defaults, name) ? withoutDefaults(value, defaults[name]) : value;
      return rest === undefined ? [] : [[name, rest] as const];
    });
    return own.length === 0 ? undefined : Object.fromEntries(own);
  }
  return JSON.stringify(values) === JSON.stringify(defaults) ? undefined : values;
}
