import { isJsonObject, stringAt, type JsonObject } from '../json-value.ts';
import type { FieldFault } from '../status-error.ts';
import { defaultFaults } from './default-faults.ts';
import { openApiFaults } from './openapi-faults.ts';
import { structuralFaults } from './structural-faults.ts';

const COLUMN_TYPES = ['boolean', 'date', 'integer', 'number', 'string'];
const COLUMN_FORMATS = ['byte', 'date', 'date-time', 'double', 'float', 'int32', 'int64', 'password'];

function required(field: string, detail = ''): FieldFault {
  return { reason: 'FieldValueRequired', field, detail };
}

function invalid(field: string, value: unknown, detail: string): FieldFault {
  return { reason: 'FieldValueInvalid', field, value, detail };
}

function pathFaults(path: string, field: string): readonly FieldFault[] {
  if (path === '') return [required(field)];
  return path.startsWith('.') ? [] : [invalid(field, path, 'must be a simple json path starting with .')];
}

function columnFaults(column: JsonObject, path: string): readonly FieldFault[] {
  const [name, type, format] = ['name', 'type', 'format'].map((field) => stringAt(column, field) ?? '');
  const types = `must be one of ${COLUMN_TYPES.join(',')}`;
  return [
    ...(name === '' ? [required(`${path}.name`)] : []),
    ...(type === '' ? [required(`${path}.type`, types)] : []),
    ...(type === '' || COLUMN_TYPES.includes(type ?? '') ? [] : [invalid(`${path}.type`, type, types)]),
    ...(format === '' || COLUMN_FORMATS.includes(format ?? '')
      ? []
      : [invalid(`${path}.format`, format, `must be one of ${COLUMN_FORMATS.join(',')}`)]),
    ...pathFaults(stringAt(column, 'jsonPath') ?? '', `${path}.JSONPath`),
  ];
}

function schemaFaults(schema: JsonObject, path: string): readonly FieldFault[] {
  const faults: FieldFault[] = [];
  if (schema['nullable'] === true) {
    faults.push({
      reason: 'FieldValueForbidden',
      field: `${path}.nullable`,
      detail: 'nullable cannot be true at the root',
    });
  }
  faults.push(...openApiFaults(schema, { path, isRoot: true, insideMeta: false, noDefault: undefined }));
  const structural = structuralFaults(schema, path);
  return [...faults, ...(structural.length > 0 ? structural : defaultFaults(schema, path))];
}

/** What the real server names in its message, and looks for by the names of its Go fields. */
const AT_ROOT =
  'Description Type Format Title Maximum ExclusiveMaximum Minimum ExclusiveMinimum MaxLength MinLength Pattern MaxItems MinItems UniqueItems MultipleOf Required Items Properties ExternalDocs Example XPreserveUnknownFields';
const ALLOWED_AT_ROOT: ReadonlySet<string> = new Set([
  ...AT_ROOT.split(' ').map((name) => `${name.charAt(0).toLowerCase()}${name.slice(1)}`),
  'x-kubernetes-preserve-unknown-fields',
]);

function statusRootFaults(schema: JsonObject, path: string): readonly FieldFault[] {
  const type = stringAt(schema, 'type') ?? '';
  if (type !== 'object' && type !== '') {
    const detail =
      'only "object" is allowed as the type at the root of the schema if the status subresource is enabled';
    return [invalid(`${path}.type`, type, detail)];
  }
  const odd = Object.entries(schema).some(([field, value]) => value !== false && !ALLOWED_AT_ROOT.has(field));
  const detail = `only [${AT_ROOT}] fields are allowed at the root of the schema if the status subresource is enabled`;
  return odd ? [invalid(path, schema, detail)] : [];
}

/** @param status whether the version has that subresource */
export function versionSchemaFaults(schema: JsonObject, status: boolean, path: string): readonly FieldFault[] {
  return [...(status ? statusRootFaults(schema, path) : []), ...schemaFaults(schema, path)];
}

export function columnsFaults(columns: readonly unknown[], path: string): readonly FieldFault[] {
  return columns.flatMap((column, index) => (isJsonObject(column) ? columnFaults(column, `${path}[${index}]`) : []));
}
