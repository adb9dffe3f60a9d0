import { stringify } from 'yaml';
import { isJsonObject, type JsonObject } from '../json-value.ts';
import { protobufField, protobufFlag } from '../protobuf-field.ts';

const TEXTS: Readonly<Record<string, number>> = { format: 2, title: 3, description: 4 };

function anyValue(value: unknown): Buffer {
  return protobufField(2, stringify(value));
}

function named(name: string, schema: JsonObject): Buffer {
  return Buffer.concat([protobufField(1, name), protobufField(2, schemaProtobuf(schema))]);
}

/** Named schemas: `Definitions` and `Properties` alike. */
export function namedSchemas(schemas: JsonObject): Buffer {
  const entries = Object.entries(schemas).filter((entry): entry is [string, JsonObject] => isJsonObject(entry[1]));
  return Buffer.concat(entries.map(([name, schema]) => protobufField(1, named(name, schema))));
}

/** A gnostic `openapi.v2.Schema`. */
export function schemaProtobuf(schema: JsonObject): Buffer {
  const parts: Buffer[] = [];
  for (const [field, number] of Object.entries(TEXTS)) {
    const text = schema[field];
    if (typeof text === 'string') parts.push(protobufField(number, text));
  }
  const { required, type, items, properties } = schema;
  for (const name of Array.isArray(required) ? required.map(String) : []) parts.push(protobufField(19, name));
  for (const value of Array.isArray(schema['enum']) ? schema['enum'] : [])
    parts.push(protobufField(20, anyValue(value)));
  const rest = schema['additionalProperties'];
  if (isJsonObject(rest)) parts.push(protobufField(21, protobufField(1, schemaProtobuf(rest))));
  else if (rest === true) parts.push(protobufField(21, protobufFlag(2)));
  if (typeof type === 'string') parts.push(protobufField(22, protobufField(1, type)));
  if (isJsonObject(items)) parts.push(protobufField(23, protobufField(1, schemaProtobuf(items))));
  if (isJsonObject(properties)) parts.push(protobufField(25, namedSchemas(properties)));
  for (const [name, value] of Object.entries(schema)) {
    if (!name.startsWith('x-')) continue;
    parts.push(protobufField(31, Buffer.concat([protobufField(1, name), protobufField(2, anyValue(value))])));
  }
  return Buffer.concat(parts);
}
