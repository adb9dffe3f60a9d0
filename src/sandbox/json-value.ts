import { isDeepStrictEqual } from 'node:util';

export type JsonObject = Record<string, unknown>;

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function sameJson(left: unknown, right: unknown): boolean {
  return left === right || isDeepStrictEqual(left, right);
}

/** The member as an object; absent or anything else gives an empty one. For reading, never for writing into. */
export function objectAt(value: unknown, field: string): JsonObject {
  const member = isJsonObject(value) ? value[field] : undefined;
  return isJsonObject(member) ? member : {};
}

export function listAt(value: unknown, field: string): readonly unknown[] {
  const member = isJsonObject(value) ? value[field] : undefined;
  return Array.isArray(member) ? member : [];
}

export function stringAt(value: unknown, field: string): string | undefined {
  const member = isJsonObject(value) ? value[field] : undefined;
  return typeof member === 'string' ? member : undefined;
}
