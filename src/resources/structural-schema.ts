/** The JSON schema that TypeBox makes, as far as resources use it. */
export interface JsonSchema {
  readonly type?: string;
  readonly description?: string;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly patternProperties?: Readonly<Record<string, JsonSchema>>;
  readonly additionalProperties?: boolean | JsonSchema;
  readonly required?: readonly string[];
  readonly items?: JsonSchema;
  readonly [keyword: string]: unknown;
}

/** A structural schema (KEP-1693): the API server prunes what it does not name, and stores the rest. */
export type StructuralSchema = Record<string, unknown>;

/** Keywords that mean the same in both. */
const KEPT = [
  'description',
  'enum',
  'format',
  'pattern',
  'minLength',
  'maxLength',
  'minimum',
  'maximum',
  'minItems',
  'maxItems',
  'minProperties',
  'maxProperties',
] as const;

const READ = new Set<string>([
  ...KEPT,
  'type',
  'const',
  'properties',
  'patternProperties',
  'additionalProperties',
  'required',
  'items',
]);

/** Lists that server-side apply merges by a member of their items, by the name of the property they are in. */
const LIST_MAP_KEYS: Readonly<Record<string, readonly string[]>> = { conditions: ['type'] };

/**
 * A TypeBox schema as the API server takes it. `additionalProperties: false` is left out: pruning does that. A map of
 * unknown values keeps whatever it is given.
 *
 * @param name the property that the schema belongs to, for errors and list types
 * @throws TypeError for a keyword that has no structural form, so that none is lost in silence
 */
export function structuralSchema(schema: JsonSchema, name: string): StructuralSchema {
  const unknown = Object.keys(schema).find((keyword) => !READ.has(keyword) && !keyword.startsWith('~'));
  if (unknown !== undefined) throw new TypeError(`${name}: the keyword ${unknown} has no form in a structural schema`);
  const structural: StructuralSchema = {};
  for (const keyword of KEPT) {
    if (schema[keyword] !== undefined) structural[keyword] = schema[keyword];
  }
  if (schema.const !== undefined) structural['enum'] = [schema.const];
  if (schema.type === 'integer') structural['format'] ??= 'int64';
  if (schema.type === undefined) return { ...structural, 'x-kubernetes-preserve-unknown-fields': true };
  return { ...structural, type: schema.type, ...members(schema, name) };
}

function members(schema: JsonSchema, name: string): StructuralSchema {
  if (schema.type === 'array') {
    const keys = LIST_MAP_KEYS[name];
    return {
      items: structuralSchema(schema.items ?? {}, `${name}[]`),
      ...(keys === undefined
        ? { 'x-kubernetes-list-type': 'atomic' }
        : { 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': [...keys] }),
    };
  }
  if (schema.type !== 'object') return {};
  if (schema.patternProperties !== undefined) {
    const [member = {}] = Object.values(schema.patternProperties);
    return member.type === undefined
      ? { 'x-kubernetes-preserve-unknown-fields': true }
      : { additionalProperties: structuralSchema(member, `${name}.*`) };
  }
  const properties = Object.entries(schema.properties ?? {});
  return {
    ...(schema.required === undefined || schema.required.length === 0 ? {} : { required: [...schema.required] }),
    properties: Object.fromEntries(properties.map(([key, member]) => [key, structuralSchema(member, key)])),
  };
}
