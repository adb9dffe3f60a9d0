import { isJsonObject, type JsonObject } from '../json-value.ts';
import type { FieldFault } from '../status-error.ts';
import { goStrings } from './go-value.ts';

const TYPES = ['array', 'boolean', 'integer', 'number', 'object', 'string'];
const META_FIELDS: ReadonlySet<string> = new Set(['metadata', 'kind', 'apiVersion']);
const UNSUPPORTED = ['id', 'additionalItems', 'patternProperties', 'definitions', 'dependencies', '$ref'] as const;

/** Where the walk is. */
interface Place {
  readonly path: string;
  readonly isRoot: boolean;
  readonly insideMeta: boolean;
  /** Why no default may stand here. */
  readonly noDefault: string | undefined;
}

function required(field: string, detail: string): FieldFault {
  return { reason: 'FieldValueRequired', field, detail };
}

function forbidden(field: string, detail: string): FieldFault {
  return { reason: 'FieldValueForbidden', field, detail };
}

function invalid(field: string, value: unknown, detail: string): FieldFault {
  return { reason: 'FieldValueInvalid', field, value, detail };
}

function unsupported(field: string, value: unknown, values: readonly string[]): FieldFault {
  const detail = `supported values: ${values.map((text) => JSON.stringify(text)).join(', ')}`;
  return { reason: 'FieldValueNotSupported', field, value, detail };
}

function objectIn(schema: JsonObject, field: string): JsonObject | undefined {
  return isJsonObject(schema[field]) ? schema[field] : undefined;
}

function textIn(schema: JsonObject, field: string): string | undefined {
  return typeof schema[field] === 'string' ? schema[field] : undefined;
}

function standardFaults(schema: JsonObject, { path, insideMeta, noDefault }: Place): readonly FieldFault[] {
  const type = textIn(schema, 'type') ?? '';
  const faults: FieldFault[] = [];
  if (type !== '' && !TYPES.includes(type)) faults.push(unsupported(`${path}.type`, type, TYPES));
  if (schema['default'] !== undefined && noDefault !== undefined) {
    faults.push(forbidden(`${path}.default`, `must not be set ${noDefault}`));
  }
  for (const field of UNSUPPORTED) {
    if (schema[field] !== undefined) faults.push(forbidden(`${path}.${field}`, `${field} is not supported`));
  }
  if (type === 'null') {
    faults.push(forbidden(`${path}.type`, 'type cannot be set to null, use nullable as an alternative'));
  }
  if (Array.isArray(schema['items'])) {
    faults.push(forbidden(`${path}.items`, 'items must be a schema object and not an array'));
  }
  if (insideMeta && schema['x-kubernetes-embedded-resource'] === true) {
    faults.push(forbidden(`${path}.x-kubernetes-embedded-resource`, 'must not be used inside of resource meta'));
  }
  if (schema['uniqueItems'] === true) {
    const detail = 'uniqueItems cannot be set to true since the runtime complexity becomes quadratic';
    faults.push(forbidden(`${path}.uniqueItems`, detail));
  }
  return faults;
}

function nestedFaults(schema: JsonObject, place: Place): readonly FieldFault[] {
  const { path, insideMeta } = place;
  const below = { ...place, isRoot: false };
  const faults: FieldFault[] = [];
  const rest = schema['additionalProperties'];
  const properties = Object.entries(objectIn(schema, 'properties') ?? {});
  if (properties.length > 0 && rest !== undefined && rest !== true) {
    const detail = 'additionalProperties and properties are mutual exclusive';
    faults.push(forbidden(`${path}.additionalProperties`, detail));
  }
  if (isJsonObject(rest)) {
    const noDefault = insideMeta ? 'inside additionalProperties applying to object metadata' : place.noDefault;
    faults.push(...openApiFaults(rest, { ...below, path: `${path}.additionalProperties`, noDefault }));
  }
  for (const [name, property] of properties) {
    if (!isJsonObject(property)) continue;
    const meta = (place.isRoot || schema['x-kubernetes-embedded-resource'] === true) && META_FIELDS.has(name);
    const noDefault = meta && place.isRoot ? `in top-level ${name}` : place.noDefault;
    const at = { path: `${path}.properties[${name}]`, isRoot: false, insideMeta: insideMeta || meta, noDefault };
    faults.push(...openApiFaults(property, at));
  }
  for (const field of ['not', 'items']) {
    const inner = objectIn(schema, field);
    if (inner !== undefined) faults.push(...openApiFaults(inner, { ...below, path: `${path}.${field}` }));
  }
  for (const field of ['allOf', 'oneOf', 'anyOf']) {
    for (const [index, inner] of (Array.isArray(schema[field]) ? schema[field] : []).entries()) {
      if (isJsonObject(inner)) faults.push(...openApiFaults(inner, { ...below, path: `${path}.${field}[${index}]` }));
    }
  }
  return faults;
}

function wrongOwner(schema: JsonObject, path: string, extension: string, type: string): readonly FieldFault[] {
  if (schema[extension] === undefined || schema['type'] === type) return [];
  const detail = `must be ${type} if ${extension} is specified`;
  const given = textIn(schema, 'type') ?? '';
  return [given === '' ? required(`${path}.type`, detail) : invalid(`${path}.type`, given, detail)];
}

function setFaults(schema: JsonObject, path: string): readonly FieldFault[] {
  const items = objectIn(schema, 'items');
  if (items === undefined || schema['x-kubernetes-list-type'] !== 'set' || schema['type'] !== 'array') return [];
  const detail = 'must be atomic as item of a list with x-kubernetes-list-type=set';
  if (items['type'] === 'object' && items['x-kubernetes-map-type'] !== 'atomic') {
    // The real server shows the item's list type here.
    return [invalid(`${path}.items.x-kubernetes-map-type`, items['x-kubernetes-list-type'], detail)];
  }
  const nested = items['x-kubernetes-list-type'];
  if (items['type'] !== 'array' || nested === undefined || nested === 'atomic') return [];
  return [invalid(`${path}.items.x-kubernetes-list-type`, nested, detail)];
}

function keyFaults(schema: JsonObject, keys: readonly string[], path: string): readonly FieldFault[] {
  const items = objectIn(schema, 'items');
  const faults: FieldFault[] = [];
  if (keys.length === 0) {
    const detail = 'must not be empty if x-kubernetes-list-type is map';
    faults.push(required(`${path}.x-kubernetes-list-map-keys`, detail));
  }
  if (items === undefined) {
    faults.push(required(`${path}.items`, 'must have a schema if x-kubernetes-list-type is map'));
    return faults;
  }
  if (items['type'] !== 'object') {
    const detail = "must be object if parent array's x-kubernetes-list-type is map";
    return [...faults, invalid(`${path}.items.type`, items['type'] ?? '', detail)];
  }
  const about = (detail: string): FieldFault => ({
    ...invalid(`${path}.x-kubernetes-list-map-keys`, keys, detail),
    shown: goStrings(keys),
  });
  for (const [index, key] of keys.entries()) {
    const property = objectIn(items, 'properties')?.[key];
    if (property === undefined) faults.push(about('entries must all be names of item properties'));
    else if (isJsonObject(property) && ['array', 'object'].includes(String(property['type']))) {
      const detail = "must be a scalar type if parent array's x-kubernetes-list-type is map";
      faults.push(invalid(`${path}.items.properties[${key}].type`, items['type'], detail));
    }
    if (keys.indexOf(key) < index) faults.push(about('must not contain duplicate entries'));
  }
  return faults;
}

function keyValueFaults(schema: JsonObject, keys: readonly string[], path: string): readonly FieldFault[] {
  const items = objectIn(schema, 'items');
  const type = schema['x-kubernetes-list-type'];
  if (items === undefined || (type !== 'set' && type !== 'map')) return [];
  const faults: FieldFault[] = [];
  if (items['nullable'] === true) {
    faults.push(forbidden(`${path}.items.nullable`, `cannot be nullable when x-kubernetes-list-type is ${type}`));
  }
  const named: readonly unknown[] = Array.isArray(items['required']) ? items['required'] : [];
  for (const key of type === 'map' ? keys : []) {
    const property = objectIn(items, 'properties')?.[key];
    if (!isJsonObject(property)) continue;
    const at = `${path}.items.properties[${key}]`;
    if (!named.includes(key) && property['default'] === undefined) {
      const detail =
        'this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property';
      faults.push(required(`${at}.default`, detail));
    }
    if (property['nullable'] === true) {
      const detail = 'this property is in x-kubernetes-list-map-keys, so it cannot be nullable';
      faults.push(forbidden(`${at}.nullable`, detail));
    }
  }
  return faults;
}

function extensionFaults(schema: JsonObject, path: string): readonly FieldFault[] {
  const faults: FieldFault[] = [];
  const [mapType, listType] = [schema['x-kubernetes-map-type'], schema['x-kubernetes-list-type']];
  const keys: unknown = schema['x-kubernetes-list-map-keys'];
  const names = Array.isArray(keys) ? keys.map(String) : [];
  if (schema['x-kubernetes-preserve-unknown-fields'] === false) {
    faults.push(invalid(`${path}.x-kubernetes-preserve-unknown-fields`, false, 'must be true or undefined'));
  }
  faults.push(...wrongOwner(schema, path, 'x-kubernetes-map-type', 'object'));
  if (mapType !== undefined && mapType !== 'atomic' && mapType !== 'granular') {
    faults.push(unsupported(`${path}.x-kubernetes-map-type`, mapType, ['atomic', 'granular']));
  }
  faults.push(...wrongOwner(schema, path, 'x-kubernetes-list-type', 'array'), ...setFaults(schema, path));
  const at = `${path}.x-kubernetes-list-type`;
  if (listType !== undefined && !['atomic', 'set', 'map'].some((value) => value === listType)) {
    faults.push(unsupported(at, listType, ['atomic', 'set', 'map']));
  }
  if (names.length > 0 && listType !== 'map') {
    const detail = 'must be map if x-kubernetes-list-map-keys is non-empty';
    faults.push(listType === undefined ? required(at, detail) : invalid(at, listType, detail));
  }
  if (listType === 'map') faults.push(...keyFaults(schema, names, path));
  return [...faults, ...keyValueFaults(schema, names, path)];
}

/** What a schema in a CustomResourceDefinition must not say, whatever its structure. */
export function openApiFaults(schema: JsonObject, place: Place): readonly FieldFault[] {
  return [...standardFaults(schema, place), ...nestedFaults(schema, place), ...extensionFaults(schema, place.path)];
}
