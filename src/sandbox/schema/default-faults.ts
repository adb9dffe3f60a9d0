import { isJsonObject, sameJson, type JsonObject } from '../json-value.ts';
import type { FieldFault } from '../status-error.ts';
import { pruned } from './shape-value.ts';
import { validateValue } from './validate-value.ts';

function ownFaults(schema: JsonObject, path: string): readonly FieldFault[] {
  const value = schema['default'];
  if (value === undefined || value === null) return [];
  const field = `${path}.default`;
  const known = pruned(value, schema);
  return [
    ...(sameJson(known, value)
      ? []
      : [{ reason: 'FieldValueInvalid', field, value, detail: 'must not have unknown fields' } as const]),
    ...validateValue(schema, value).errors.map(({ fault }) => ({
      ...fault,
      field: fault.field === '<nil>' ? field : `${field}.${fault.field}`,
    })),
  ];
}

/** Defaults must fit the schema that they stand in. */
export function defaultFaults(schema: JsonObject, path: string): readonly FieldFault[] {
  const properties = isJsonObject(schema['properties']) ? schema['properties'] : {};
  return [
    ...ownFaults(schema, path),
    ...(isJsonObject(schema['items']) ? defaultFaults(schema['items'], `${path}.items`) : []),
    ...Object.entries(properties).flatMap(([name, property]) =>
      isJsonObject(property) ? defaultFaults(property, `${path}.properties[${name}]`) : [],
    ),
  ];
}
