import { isJsonObject, type JsonObject } from '../json-value.ts';
import type { Kind } from '../kind.ts';

const TEXT = {
  apiVersion: 'APIVersion defines the versioned schema of this representation of an object.',
  kind: 'Kind is a string value representing the REST resource this object represents.',
  metadata: "Standard object's metadata.",
};
const KEPT = ['description', 'title', 'format', 'type', 'required', 'enum'] as const;
const EXTENSIONS = /^x-kubernetes-/;

/**
 * A schema as OpenAPI v2 can say it and as kubectl reads it: what may be null, a number or a text, or may hold
 * unknown fields has no type or no fields there, since kubectl would refuse what the server takes.
 */
export function publishedSchema(schema: JsonObject): JsonObject {
  const result: JsonObject = {};
  for (const field of KEPT) if (schema[field] !== undefined) result[field] = schema[field];
  for (const [field, value] of Object.entries(schema)) if (EXTENSIONS.test(field)) result[field] = value;
  if (schema['nullable'] === true || schema['x-kubernetes-int-or-string'] === true) {
    for (const field of ['type', 'required', 'enum', 'format']) delete result[field];
    return result;
  }
  if (schema['x-kubernetes-preserve-unknown-fields'] === true) return result;
  if (isJsonObject(schema['items'])) result['items'] = publishedSchema(schema['items']);
  if (isJsonObject(schema['additionalProperties'])) {
    result['additionalProperties'] = publishedSchema(schema['additionalProperties']);
  }
  if (isJsonObject(schema['properties'])) {
    result['properties'] = Object.fromEntries(
      Object.entries(schema['properties']).map(([name, property]) => [
        name,
        isJsonObject(property) ? publishedSchema(property) : {},
      ]),
    );
  }
  return result;
}

/** `io.service.apps.v1.ApplicationInstance`: the group's labels from the last to the first. */
export function definitionName(kind: Kind): string {
  return [...kind.group.split('.').toReversed(), kind.version, kind.kind].join('.');
}

/** The definition of a custom kind, named for kubectl by its group, version and kind. */
export function publishedDefinition(kind: Kind): JsonObject | undefined {
  if (kind.schema === undefined) return undefined;
  const schema = publishedSchema(kind.schema.schema);
  const properties = isJsonObject(schema['properties']) ? schema['properties'] : undefined;
  const { group, version } = kind;
  return {
    ...schema,
    ...(properties === undefined
      ? {}
      : {
          properties: {
            ...properties,
            apiVersion: { description: TEXT.apiVersion, type: 'string' },
            kind: { description: TEXT.kind, type: 'string' },
            metadata: { description: TEXT.metadata, type: 'object' },
          },
        }),
    'x-kubernetes-group-version-kind': [{ group, kind: kind.kind, version }],
  };
}
