import { isJsonObject, type JsonObject } from './json-value.ts';

/**
 * How server-side apply sees a value: which parts have owners of their own (KEP-555, "topology").
 * `untyped` is what a value without a schema gets: maps field by field, lists as a whole.
 */
export type Structure =
  | { readonly type: 'untyped' }
  | { readonly type: 'atomic' }
  | { readonly type: 'object'; readonly fields: Readonly<Record<string, Structure>>; readonly rest: Structure }
  | { readonly type: 'set' }
  | {
      readonly type: 'keyed';
      readonly keys: readonly string[];
      /** A key that an item leaves out counts as this (a port's `protocol` is TCP). */
      readonly defaults: Readonly<JsonObject>;
      readonly item: Structure;
    };

export const untyped: Structure = { type: 'untyped' };
export const atomic: Structure = { type: 'atomic' };
export const set: Structure = { type: 'set' };

export function object(fields: Readonly<Record<string, Structure>>, rest: Structure = untyped): Structure {
  return { type: 'object', fields, rest };
}

export function keyed(
  keys: readonly string[],
  item: Structure = untyped,
  defaults: Readonly<JsonObject> = {},
): Structure {
  return { type: 'keyed', keys, defaults, item };
}

/** Metadata of every kind. Field names are listed so that only label and annotation maps count as maps. */
export const metadataStructure: Structure = object({
  name: untyped,
  generateName: untyped,
  namespace: untyped,
  labels: object({}),
  annotations: object({}),
  finalizers: set,
  ownerReferences: keyed(['uid'], atomic),
});

export function fieldStructure(structure: Structure, field: string): Structure {
  return structure.type === 'object' ? (structure.fields[field] ?? structure.rest) : untyped;
}

/** A named field of a known type, as opposed to a key of a map. */
export function isNamedField(structure: Structure, field: string): boolean {
  return structure.type === 'object' && Object.hasOwn(structure.fields, field);
}

function schemaStructure(schema: unknown): Structure {
  if (!isJsonObject(schema)) return untyped;
  if (schema['x-kubernetes-embedded-resource'] === true) return untyped;
  if (schema['type'] === 'array') {
    const keys = schema['x-kubernetes-list-map-keys'];
    if (schema['x-kubernetes-list-type'] === 'map' && Array.isArray(keys)) {
      const items = isJsonObject(schema['items']) ? schema['items'] : {};
      const properties = isJsonObject(items['properties']) ? items['properties'] : {};
      const defaults: JsonObject = {};
      for (const key of keys) {
        const property = properties[String(key)];
        if (isJsonObject(property) && property['default'] !== undefined) defaults[String(key)] = property['default'];
      }
      return keyed(keys.map(String), schemaStructure(items), defaults);
    }
    return schema['x-kubernetes-list-type'] === 'set' ? set : atomic;
  }
  if (schema['type'] !== 'object') return untyped;
  if (schema['x-kubernetes-map-type'] === 'atomic') return atomic;
  const fields: Record<string, Structure> = {};
  for (const [name, property] of Object.entries(isJsonObject(schema['properties']) ? schema['properties'] : {})) {
    fields[name] = schemaStructure(property);
  }
  return object(fields, schemaStructure(schema['additionalProperties']));
}

/** The structure of a custom resource version, from its `openAPIV3Schema`. */
export function structureOfSchema(openAPIV3Schema: unknown): Structure {
  const structure = schemaStructure(openAPIV3Schema);
  const fields = structure.type === 'object' ? structure.fields : {};
  return object({ ...fields, apiVersion: untyped, kind: untyped, metadata: metadataStructure });
}
