import { isJsonObject, sameJson, type JsonObject } from '../json-value.ts';
import type { FieldFault } from '../status-error.ts';

type Level = 'root' | 'item' | 'field';

const EMPTY_TYPE: Readonly<Record<Level, string>> = {
  root: 'must not be empty at the root',
  item: 'must not be empty for specified array items',
  field: 'must not be empty for specified object fields',
};
const INT_OR_STRING = [{ type: 'integer' }, { type: 'string' }];
/** What only a structure may say, not a condition on it. */
const FORBIDDEN: readonly (readonly [field: string, detail: string])[] = [
  ['type', 'must be empty to be structural'],
  ['additionalProperties', 'must be undefined to be structural'],
  ['default', 'must be undefined to be structural'],
  ['title', 'must be empty to be structural'],
  ['description', 'must be empty to be structural'],
  ['nullable', 'must be false to be structural'],
  ['x-kubernetes-preserve-unknown-fields', 'must be false to be structural'],
  ['x-kubernetes-embedded-resource', 'must be false to be structural'],
  ['x-kubernetes-int-or-string', 'must be false to be structural'],
  ['x-kubernetes-list-map-keys', 'must be empty to be structural'],
  ['x-kubernetes-list-type', 'must be undefined to be structural'],
  ['x-kubernetes-map-type', 'must be undefined to be structural'],
];

function required(field: string, detail: string): FieldFault {
  return { reason: 'FieldValueRequired', field, detail };
}

function forbidden(field: string, detail: string): FieldFault {
  return { reason: 'FieldValueForbidden', field, detail };
}

function invalid(field: string, value: unknown, detail: string): FieldFault {
  return { reason: 'FieldValueInvalid', field, value, detail };
}

function isSet(value: unknown): boolean {
  return value !== undefined && value !== null && value !== '' && value !== false && !sameJson(value, []);
}

function schemasAt(schema: JsonObject, field: string): readonly JsonObject[] {
  return Array.isArray(schema[field]) ? schema[field].filter(isJsonObject) : [];
}

function propertiesOf(schema: JsonObject): Readonly<Record<string, unknown>> {
  return isJsonObject(schema['properties']) ? schema['properties'] : {};
}

function conditionFaults(schema: JsonObject, path: string): readonly FieldFault[] {
  const properties = Object.entries(propertiesOf(schema));
  return [
    ...junctorFaults(schema, path),
    ...(isJsonObject(schema['items']) ? conditionFaults(schema['items'], `${path}.items`) : []),
    ...properties.flatMap(([name, property]) =>
      isJsonObject(property) ? conditionFaults(property, `${path}.properties[${name}]`) : [],
    ),
    ...FORBIDDEN.filter(([field]) => isSet(schema[field])).map(([field, detail]) =>
      forbidden(`${path}.${field}`, detail),
    ),
    ...(properties.some(([name]) => name === 'metadata')
      ? [forbidden(`${path}.properties[metadata]`, 'must not be specified in a nested context')]
      : []),
  ];
}

function patternFaults(schema: JsonObject, path: string): readonly FieldFault[] {
  const { pattern } = schema;
  if (typeof pattern !== 'string') return [];
  try {
    // oxlint-disable-next-line no-new -- only whether it can be read
    new RegExp(pattern.replace(/^\(\?[ims]+\)/, '').replaceAll('(?P<', '(?<'));
    return [];
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return [invalid(`${path}.pattern`, pattern, `must be a valid regular expression, but isn't: ${why}`)];
  }
}

function junctorFaults(schema: JsonObject, path: string): readonly FieldFault[] {
  const anyOf = schemasAt(schema, 'anyOf');
  const allOf = schemasAt(schema, 'allOf');
  const plain = (list: readonly JsonObject[], field: string, from = 0): readonly FieldFault[] =>
    list.flatMap((inner, index) => (index < from ? [] : conditionFaults(inner, `${path}.${field}[${index}]`)));
  const [first] = allOf;
  const exempt = first !== undefined && sameJson(first['anyOf'], INT_OR_STRING);
  const { anyOf: _, ...rest } = first ?? {};
  return [
    ...(sameJson(anyOf, INT_OR_STRING) ? [] : plain(anyOf, 'anyOf')),
    ...(exempt ? conditionFaults(rest, `${path}.allOf[0]`) : []),
    ...plain(allOf, 'allOf', exempt ? 1 : 0),
    ...plain(schemasAt(schema, 'oneOf'), 'oneOf'),
    ...(isJsonObject(schema['not']) ? conditionFaults(schema['not'], `${path}.not`) : []),
    ...patternFaults(schema, path),
  ];
}

function typeFaults(schema: JsonObject, level: Level, path: string): readonly FieldFault[] {
  const type = typeof schema['type'] === 'string' ? schema['type'] : '';
  const at = `${path}.type`;
  const embedded = schema['x-kubernetes-embedded-resource'] === true;
  const untyped =
    schema['x-kubernetes-int-or-string'] === true || schema['x-kubernetes-preserve-unknown-fields'] === true;
  const detail = 'must be object if x-kubernetes-embedded-resource is true';
  const faults: FieldFault[] = [];
  if (embedded && type !== 'object') faults.push(type === '' ? required(at, detail) : invalid(at, type, detail));
  else if (type === '' && !untyped) faults.push(required(at, EMPTY_TYPE[level]));
  if (level === 'root' && type !== '' && type !== 'object')
    faults.push(invalid(at, type, 'must be object at the root'));
  return faults;
}

function metadataFaults(schema: JsonObject, level: Level, path: string): readonly FieldFault[] {
  if (level !== 'root' && schema['x-kubernetes-embedded-resource'] !== true) return [];
  const properties = propertiesOf(schema);
  const faults = (['kind', 'apiVersion', 'metadata'] as const).flatMap((name) => {
    const property = properties[name];
    const wanted = name === 'metadata' ? 'object' : 'string';
    if (!isJsonObject(property) || property['type'] === wanted) return [];
    return [invalid(`${path}.properties[${name}].type`, property['type'] ?? '', `must be ${wanted}`)];
  });
  const { metadata } = properties;
  if (level !== 'root' || !isJsonObject(metadata)) return faults;
  const { type: _, default: __, properties: named, description, ...rest } = metadata;
  const others = Object.keys(isJsonObject(named) ? named : {}).filter(
    (name) => !['name', 'generateName'].includes(name),
  );
  if (others.length === 0 && !isSet(description) && Object.values(rest).every((value) => !isSet(value))) return faults;
  const detail = 'must not specify anything other than name and generateName, but metadata is implicitly specified';
  return [...faults, forbidden(`${path}.properties[metadata]`, detail)];
}

function extensionFaults(schema: JsonObject, path: string): readonly FieldFault[] {
  const embedded = schema['x-kubernetes-embedded-resource'] === true;
  const preserves = schema['x-kubernetes-preserve-unknown-fields'] === true;
  const faults: FieldFault[] = [];
  if (schema['x-kubernetes-int-or-string'] === true) {
    const detail = 'must be false if x-kubernetes-int-or-string is true';
    if (preserves) faults.push(invalid(`${path}.x-kubernetes-preserve-unknown-fields`, true, detail));
    if (embedded) faults.push(invalid(`${path}.x-kubernetes-embedded-resource`, true, detail));
  }
  if (embedded && schema['additionalProperties'] !== undefined) {
    const detail = 'must not be used if x-kubernetes-embedded-resource is set';
    faults.push(forbidden(`${path}.additionalProperties`, detail));
  }
  if (embedded && !preserves && Object.keys(propertiesOf(schema)).length === 0) {
    const detail =
      'must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields';
    faults.push(required(`${path}.properties`, detail));
  }
  return faults;
}

function invariantFaults(schema: JsonObject, level: Level, path: string): readonly FieldFault[] {
  const { items } = schema;
  const rest = schema['additionalProperties'];
  return [
    ...(schema['type'] === 'array' && !isJsonObject(items) ? [required(`${path}.items`, 'must be specified')] : []),
    ...(isJsonObject(items) ? invariantFaults(items, 'item', `${path}.items`) : []),
    ...Object.entries(propertiesOf(schema)).flatMap(([name, property]) =>
      isJsonObject(property) ? invariantFaults(property, 'field', `${path}.properties[${name}]`) : [],
    ),
    ...(rest !== undefined && level === 'root'
      ? [forbidden(`${path}.additionalProperties`, 'must not be used at the root')]
      : []),
    ...(isJsonObject(rest) ? invariantFaults(rest, 'field', `${path}.additionalProperties`) : []),
    ...extensionFaults(schema, path),
    ...junctorFaults(schema, path),
    ...typeFaults(schema, level, path),
    ...metadataFaults(schema, level, path),
  ];
}

/** Every field that a condition at the root names is also part of the structure. */
function incomplete(
  condition: JsonObject,
  structure: JsonObject | undefined,
  path: string,
  at: string,
): readonly FieldFault[] {
  if (structure === undefined) return [required(at, `because it is defined in ${path}`)];
  const { items } = condition;
  const own = structure['items'];
  return [
    ...incompleteJunctors(condition, structure, path, at),
    ...(isJsonObject(items)
      ? incomplete(items, isJsonObject(own) ? own : undefined, `${path}.items`, `${at}.items`)
      : []),
    ...Object.entries(propertiesOf(condition)).flatMap(([name, property]) => {
      const found = propertiesOf(structure)[name];
      const [inner, place] = [`${path}.properties[${name}]`, `${at}.properties[${name}]`];
      return isJsonObject(property) ? incomplete(property, isJsonObject(found) ? found : undefined, inner, place) : [];
    }),
  ];
}

function incompleteJunctors(
  schema: JsonObject,
  structure: JsonObject,
  path: string,
  at: string,
): readonly FieldFault[] {
  return [
    ...(isJsonObject(schema['not']) ? incomplete(schema['not'], structure, `${path}.not`, at) : []),
    ...['allOf', 'anyOf', 'oneOf'].flatMap((field) =>
      schemasAt(schema, field).flatMap((inner, index) =>
        incomplete(inner, structure, `${path}.${field}[${index}]`, at),
      ),
    ),
  ];
}

/** The rules of a structural schema (KEP-1693). */
export function structuralFaults(schema: JsonObject, path: string): readonly FieldFault[] {
  const faults = [...invariantFaults(schema, 'root', path), ...incompleteJunctors(schema, schema, path, path)];
  return faults.toSorted((left, right) => (textOf(left) < textOf(right) ? -1 : 1));
}

function textOf(fault: FieldFault): string {
  const words = { FieldValueRequired: 'Required value', FieldValueForbidden: 'Forbidden' } as Partial<
    Record<string, string>
  >;
  return `${fault.field}: ${words[fault.reason] ?? 'Invalid value'}: ${fault.detail}`;
}
