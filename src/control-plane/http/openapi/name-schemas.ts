import { isDeepStrictEqual } from 'node:util';

type Json = Readonly<Record<string, unknown>>;

/** A schema as a document has it, with the schemas that it refers to by their names. */
export interface NamedSchema {
  readonly schema: unknown;
  readonly components: ReadonlyMap<string, Json>;
}

/** Members of a schema that hold schemas by name: their keys are no keywords. */
const MAPS = new Set(['properties', 'patternProperties', '$defs']);
const VALUES = new Set(['const', 'enum', 'default', 'examples']);

/** Of a schema with a title, which never changes: many answers hold the same, and a test starts many servers. */
const known = new WeakMap<object, NamedSchema>();

/**
 * The schema of an answer: whatever has a title stands once in `components` under it, and every object has the members that
 * are listed and no others, unless it says so itself.
 *
 * @throws Error where two different schemas have one name
 */
export function nameSchemas(schema: unknown): NamedSchema {
  if (typeof schema !== 'object' || schema === null) return { schema, components: new Map() };
  const cached = known.get(schema);
  if (cached !== undefined) return cached;
  const components = new Map<string, Json>();
  const within = (value: unknown): unknown => {
    const found = nameSchemas(value);
    addAll(components, found.components);
    return found.schema;
  };
  if (Array.isArray(schema)) return { schema: schema.map(within), components };
  const entries = Object.entries(schema).map(([key, value]: [string, unknown]): [string, unknown] => {
    if (VALUES.has(key)) return [key, value];
    return [key, MAPS.has(key) ? mapValues(value as Json, within) : within(value)];
  });
  const { title, ...own } = Object.fromEntries(entries);
  const isOpen = own['type'] === 'object' && 'properties' in own && !('additionalProperties' in own);
  const strict = isOpen ? { ...own, additionalProperties: false } : own;
  if (typeof title !== 'string') return { schema: strict, components };
  addAll(components, new Map([[title, strict]]));
  const named = { schema: { $ref: `#/components/schemas/${title}` }, components };
  known.set(schema, named);
  return named;
}

/** @throws Error */
export function addAll(components: Map<string, Json>, more: ReadonlyMap<string, Json>): void {
  for (const [name, schema] of more) {
    const before = components.get(name);
    if (before !== undefined && before !== schema && !isDeepStrictEqual(before, schema)) {
      throw new Error(`two different schemas of the API are named ${name}`);
    }
    components.set(name, schema);
  }
}

function mapValues(map: Json, change: (value: unknown) => unknown): Json {
  return Object.fromEntries(Object.entries(map).map(([name, value]) => [name, change(value)]));
}
