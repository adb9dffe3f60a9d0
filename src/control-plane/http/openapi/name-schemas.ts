import { isDeepStrictEqual } from 'node:util';

type Json = Record<string, unknown>;

/** Members of a schema that hold schemas by name: their keys are no keywords. */
const MAPS = new Set(['properties', 'patternProperties', '$defs']);

/**
 * Moves every schema that has a title to `components.schemas`, and leaves a reference in its place: what an answer is made
 * of stands once in the document.
 *
 * @throws Error where two different schemas have one name
 */
export function nameSchemas(schema: unknown, named: Map<string, Json>): unknown {
  if (Array.isArray(schema)) return schema.map((one) => nameSchemas(one, named));
  if (!isObject(schema)) return schema;
  const entries = Object.entries(schema).map(([key, value]): [string, unknown] => {
    if (key === 'const' || key === 'enum' || key === 'default' || key === 'example' || key === 'examples') {
      return [key, value];
    }
    if (!MAPS.has(key) || !isObject(value)) return [key, nameSchemas(value, named)];
    return [key, Object.fromEntries(Object.entries(value).map(([name, one]) => [name, nameSchemas(one, named)]))];
  });
  const { title, ...rest } = Object.fromEntries(entries);
  if (typeof title !== 'string') return title === undefined ? rest : { title, ...rest };
  const before = named.get(title);
  if (before !== undefined && !isDeepStrictEqual(before, rest)) {
    throw new Error(`two different schemas of the API are named ${title}`);
  }
  named.set(title, rest);
  return { $ref: `#/components/schemas/${title}` };
}

/** A schema of an answer in which every object has the members that are listed and no others. */
export function strictly(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(strictly);
  if (!isObject(schema)) return schema;
  const within = Object.fromEntries(
    Object.entries(schema).map(([key, value]): [string, unknown] => {
      if (key === 'const' || key === 'enum') return [key, value];
      if (!MAPS.has(key) || !isObject(value)) return [key, strictly(value)];
      return [key, Object.fromEntries(Object.entries(value).map(([name, one]) => [name, strictly(one)]))];
    }),
  );
  const isOpen = within['type'] === 'object' && 'properties' in within && !('additionalProperties' in within);
  return isOpen ? { ...within, additionalProperties: false } : within;
}

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
