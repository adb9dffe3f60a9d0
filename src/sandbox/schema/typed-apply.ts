import { isJsonObject, type JsonObject } from '../json-value.ts';
import { StatusError } from '../status-error.ts';
import { goQuoted } from './go-value.ts';

/** `%v` of a decoded value, as structured-merge-diff prints what it was given. */
function goPlain(value: unknown): string {
  if (value === null) return '<nil>';
  if (Array.isArray(value)) return `[${value.map(goPlain).join(' ')}]`;
  if (!isJsonObject(value)) return typeof value === 'string' ? value : JSON.stringify(value);
  const members = Object.keys(value).toSorted();
  return `map[${members.map((key) => `${key}:${goPlain(value[key])}`).join(' ')}]`;
}

function scalarFault(type: unknown, value: unknown): string | undefined {
  if ((type === 'integer' || type === 'number') && typeof value !== 'number') {
    return 'expected numeric (int or float), got *value.valueUnstructured';
  }
  if ((type === 'string' || type === 'boolean') && typeof value !== type)
    return `expected ${type}, got &{${goPlain(value)}}`;
  return undefined;
}

function keyText(value: unknown): string {
  return typeof value === 'string' ? goQuoted(value) : JSON.stringify(value);
}

/** How an item of a set or a keyed list is named: `[="a"]`, `[port=1,protocol="TCP"]`. */
function itemText(item: unknown, keys: readonly string[] | undefined, items: JsonObject): string | undefined {
  if (keys === undefined) return `[=${keyText(item)}]`;
  if (!isJsonObject(item)) return undefined;
  const properties = isJsonObject(items['properties']) ? items['properties'] : {};
  const parts = keys.toSorted().flatMap((key) => {
    const property = properties[key];
    const value = item[key] ?? (isJsonObject(property) ? property['default'] : undefined);
    return value === undefined ? [] : [`${key}=${keyText(value)}`];
  });
  return `[${parts.join(',')}]`;
}

function* listFaults(schema: JsonObject, list: readonly unknown[], path: string): Generator<string> {
  const items = isJsonObject(schema['items']) ? schema['items'] : {};
  const type = schema['x-kubernetes-list-type'];
  const keys = schema['x-kubernetes-list-map-keys'];
  const named = type === 'map' && Array.isArray(keys) ? keys.map(String) : undefined;
  const seen = new Set<string>();
  for (const [index, item] of list.entries()) {
    const name = type === 'set' || type === 'map' ? itemText(item, named, items) : undefined;
    if (name !== undefined && seen.has(name)) yield `${path}: duplicate entries for key ${name}`;
    if (name !== undefined) seen.add(name);
    yield* faultsOf(items, item, `${path}${name ?? `[${index}]`}`);
  }
}

function* mapFaults(schema: JsonObject, map: JsonObject, path: string): Generator<string> {
  const properties = isJsonObject(schema['properties']) ? schema['properties'] : undefined;
  const rest = schema['additionalProperties'];
  const open = schema['x-kubernetes-preserve-unknown-fields'] === true || rest !== undefined;
  for (const [key, value] of Object.entries(map)) {
    const property = properties?.[key];
    if (isJsonObject(property)) yield* faultsOf(property, value, `${path}.${key}`);
    else if (isJsonObject(rest)) yield* faultsOf(rest, value, `${path}.${key}`);
    else if (!open && properties !== undefined) yield `${path}.${key}: field not declared in schema`;
  }
}

function* faultsOf(schema: JsonObject, value: unknown, path: string): Generator<string> {
  if (value === null || schema['x-kubernetes-embedded-resource'] === true) return;
  const { type } = schema;
  if (type === 'array') {
    if (Array.isArray(value)) yield* listFaults(schema, value, path);
    else yield `${path}: expected list, got &{${goPlain(value)}}`;
  } else if (type === 'object') {
    if (isJsonObject(value)) yield* mapFaults(schema, value, path);
    else yield `${path}: expected map, got &{${goPlain(value)}}`;
  } else {
    const fault = scalarFault(type, value);
    if (fault !== undefined) yield `${path}: ${fault}`;
  }
}

/**
 * An applied configuration must fit its schema field by field, since the fields have owners: one that the schema
 * does not know is refused, not pruned.
 *
 * @throws StatusError 500, as the real server answers
 */
export function checkTyped(schema: JsonObject, config: JsonObject): void {
  const { apiVersion: _, kind: __, metadata: ___, ...content } = config;
  const faults = [...mapFaults(schema, content, '')];
  if (faults.length === 0) return;
  const text = faults.length === 1 ? faults.join('') : ['errors:', ...faults.map((fault) => `  ${fault}`)].join('\n');
  throw new StatusError(500, '', `failed to create typed patch object: ${text}`);
}
