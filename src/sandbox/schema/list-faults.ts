import { isJsonObject, type JsonObject } from '../json-value.ts';
import type { FieldFault } from '../status-error.ts';

/** The places of items that an earlier item equals; each value is named once. */
function repeated(values: readonly unknown[]): readonly number[] {
  const seen = new Map<string, number>();
  return values.flatMap((value, index) => {
    const text = sortedJson(value);
    const times = seen.get(text) ?? 0;
    seen.set(text, times + 1);
    return times === 1 ? [index] : [];
  });
}

function sortedJson(value: unknown): string {
  return JSON.stringify(value, (_, member: unknown) =>
    isJsonObject(member)
      ? Object.fromEntries(Object.entries(member).toSorted(([left], [right]) => (left < right ? -1 : 1)))
      : member,
  );
}

function keyedFaults(path: string, list: readonly unknown[], keys: readonly string[]): readonly FieldFault[] {
  const odd = list.findIndex((item) => item !== null && !isJsonObject(item));
  if (odd !== -1) {
    const detail = 'must be an object for an array of list-type map';
    return [{ reason: 'FieldValueInvalid', field: `${path}[${odd}]`, value: list[odd], detail }];
  }
  const found = list.map((item) =>
    Object.fromEntries(
      keys.flatMap((key) => (isJsonObject(item) && Object.hasOwn(item, key) ? [[key, item[key]]] : [])),
    ),
  );
  return repeated(found).map((index) => duplicate(`${path}[${index}]`, found[index]));
}

function duplicate(field: string, value: unknown): FieldFault {
  return { reason: 'FieldValueDuplicate', field, value, detail: '' };
}

/** Items of `x-kubernetes-list-type` set and map that are there twice. */
export function listFaults(value: unknown, schema: unknown, path = ''): readonly FieldFault[] {
  if (!isJsonObject(schema)) return [];
  if (Array.isArray(value)) {
    const keys = Array.isArray(schema['x-kubernetes-list-map-keys']) ? schema['x-kubernetes-list-map-keys'] : [];
    const own =
      schema['x-kubernetes-list-type'] === 'set'
        ? repeated(value).map((index) => duplicate(`${path}[${index}]`, value[index]))
        : schema['x-kubernetes-list-type'] === 'map'
          ? keyedFaults(path, value, keys.map(String))
          : [];
    return [...own, ...value.flatMap((item, index) => listFaults(item, schema['items'], `${path}[${index}]`))];
  }
  if (!isJsonObject(value)) return [];
  const properties: JsonObject = isJsonObject(schema['properties']) ? schema['properties'] : {};
  return Object.entries(value).flatMap(([key, member]) => [
    ...listFaults(member, schema['additionalProperties'], `${path}[${key}]`),
    ...(Object.hasOwn(properties, key)
      ? listFaults(member, properties[key], path === '' ? key : `${path}.${key}`)
      : []),
  ]);
}
