import { isJsonObject, type JsonObject } from '../json-value.ts';

/** Members of an embedded resource that its schema need not name. */
const META_FIELDS: ReadonlySet<string> = new Set(['apiVersion', 'kind', 'metadata']);

function schemaAt(schema: JsonObject | undefined, field: string): JsonObject | undefined {
  const member = schema?.[field];
  return isJsonObject(member) ? member : undefined;
}

/** The schema of a member: its property's, else that of all other members. */
function memberSchema(schema: JsonObject | undefined, key: string): JsonObject | undefined {
  const properties = schemaAt(schema, 'properties');
  if (properties !== undefined && Object.hasOwn(properties, key)) return schemaAt(properties, key);
  return schemaAt(schema, 'additionalProperties');
}

function isKnown(schema: JsonObject, key: string): boolean {
  const properties = schemaAt(schema, 'properties');
  if (properties !== undefined && Object.hasOwn(properties, key)) return true;
  return schema['additionalProperties'] !== undefined;
}

type Change = { readonly keep: true; readonly value: unknown } | { readonly keep: false };

/** A copy with the members changed; the same object when none is. */
function mapMembers(map: JsonObject, change: (key: string, value: unknown) => Change): JsonObject {
  let changed = false;
  const result: JsonObject = {};
  for (const [key, value] of Object.entries(map)) {
    const next = change(key, value);
    if (next.keep) result[key] = next.value;
    changed ||= !next.keep || next.value !== value;
  }
  return changed ? result : map;
}

function mapItems(list: readonly unknown[], change: (item: unknown) => unknown): readonly unknown[] {
  const result = list.map(change);
  return result.some((item, index) => item !== list[index]) ? result : list;
}

function isRefusedNull(value: unknown, schema: JsonObject | undefined): boolean {
  return value === null && schema !== undefined && schema['nullable'] !== true;
}

/** Fills in what the schema gives as default, level by level: a default can hold defaults. */
export function withDefaults(value: unknown, schema: JsonObject | undefined): unknown {
  if (schema === undefined) return value;
  if (Array.isArray(value)) {
    const items = schemaAt(schema, 'items');
    return mapItems(value, (item) =>
      withDefaults(isRefusedNull(item, items) ? (structuredClone(items?.['default']) ?? null) : item, items),
    );
  }
  if (!isJsonObject(value)) return value;
  const given: JsonObject = { ...value };
  let added = false;
  for (const [name, property] of Object.entries(schemaAt(schema, 'properties') ?? {})) {
    if (!isJsonObject(property) || property['default'] === undefined || property['default'] === null) continue;
    if (Object.hasOwn(value, name) && !isRefusedNull(value[name], property)) continue;
    given[name] = structuredClone(property['default']);
    added = true;
  }
  return mapMembers(added ? given : value, (key, member) => {
    const properties = schemaAt(schema, 'properties');
    if (properties !== undefined && Object.hasOwn(properties, key)) {
      return { keep: true, value: withDefaults(member, schemaAt(properties, key)) };
    }
    const rest = schemaAt(schema, 'additionalProperties');
    const filled = isRefusedNull(member, rest) ? (structuredClone(rest?.['default']) ?? null) : member;
    return { keep: true, value: withDefaults(filled, rest) };
  });
}

/** Takes out what the schema does not name. `undefined` as schema names nothing. */
export function pruned(value: unknown, schema: JsonObject | undefined): unknown {
  if (schema?.['x-kubernetes-preserve-unknown-fields'] === true) return prunedWhereNamed(value, schema);
  if (Array.isArray(value)) return mapItems(value, (item) => pruned(item, schemaAt(schema, 'items')));
  if (!isJsonObject(value)) return value;
  if (schema === undefined) return Object.keys(value).length === 0 ? value : {};
  return mapMembers(value, (key, member) => {
    if (schema['x-kubernetes-embedded-resource'] === true && META_FIELDS.has(key)) return { keep: true, value: member };
    if (!isKnown(schema, key)) return { keep: false };
    return { keep: true, value: pruned(member, memberSchema(schema, key)) };
  });
}

/** Under `x-kubernetes-preserve-unknown-fields` the members that are named are pruned on their own. */
function prunedWhereNamed(value: unknown, schema: JsonObject | undefined): unknown {
  if (schema === undefined) return value;
  if (Array.isArray(value)) return mapItems(value, (item) => prunedWhereNamed(item, schemaAt(schema, 'items')));
  if (!isJsonObject(value)) return value;
  return mapMembers(value, (key, member) => {
    const meta = schema['x-kubernetes-embedded-resource'] === true && META_FIELDS.has(key);
    if (meta || !isKnown(schema, key)) return { keep: true, value: member };
    return { keep: true, value: pruned(member, memberSchema(schema, key)) };
  });
}

/** Takes out nulls that are neither allowed nor defaulted: they count as absent. */
export function withoutRefusedNulls(value: unknown, schema: JsonObject | undefined): unknown {
  if (Array.isArray(value)) return mapItems(value, (item) => withoutRefusedNulls(item, schemaAt(schema, 'items')));
  if (!isJsonObject(value)) return value;
  return mapMembers(value, (key, member) => {
    const inner = memberSchema(schema, key);
    const undefaulted = inner?.['default'] === undefined || inner['default'] === null;
    if (isRefusedNull(member, inner) && undefaulted) return { keep: false };
    return { keep: true, value: withoutRefusedNulls(member, inner) };
  });
}
