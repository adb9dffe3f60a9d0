import { setOwn } from '../protocol/own-property.ts';

type Values = Readonly<Record<string, unknown>>;

/**
 * `over` on top of `base`: objects merge member by member, anything else replaces (RFC 7396). Unlike there, `null` stays:
 * to Helm it means "drop the chart's own default", which removing it here would bring back.
 */
export function mergeValues(base: Values | undefined, over: Values | undefined): Record<string, unknown> {
  const merged: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(base ?? {})) setOwn(merged, name, value);
  for (const [name, value] of Object.entries(over ?? {})) {
    const below = Object.hasOwn(merged, name) ? merged[name] : undefined;
    setOwn(merged, name, isObject(below) && isObject(value) ? mergeValues(below, value) : value);
  }
  return merged;
}

function isObject(value: unknown): value is Values {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
