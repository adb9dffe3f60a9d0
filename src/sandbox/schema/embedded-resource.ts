import { isJsonObject, stringAt, type JsonObject } from '../json-value.ts';
import { knownMetadata, metadataFaults, nameFaults } from '../metadata-rules.ts';
import type { FieldFault } from '../status-error.ts';
import { faultValue } from './go-value.ts';

/** Calls `visit` for every embedded resource, and puts in its place what that returns. */
function mapEmbedded(
  value: unknown,
  schema: unknown,
  path: string,
  visit: (resource: JsonObject, path: string) => JsonObject,
): unknown {
  if (!isJsonObject(schema)) return value;
  if (Array.isArray(value)) {
    const items = value.map((item, index) => mapEmbedded(item, schema['items'], `${path}[${index}]`, visit));
    return items.some((item, index) => item !== value[index]) ? items : value;
  }
  if (!isJsonObject(value)) return value;
  const own = schema['x-kubernetes-embedded-resource'] === true ? visit(value, path) : value;
  const properties: JsonObject = isJsonObject(schema['properties']) ? schema['properties'] : {};
  let result = own;
  for (const [key, member] of Object.entries(own)) {
    const named = Object.hasOwn(properties, key);
    const at = named ? (path === '' ? key : `${path}.${key}`) : `${path}[${key}]`;
    const next = mapEmbedded(member, named ? properties[key] : schema['additionalProperties'], at, visit);
    if (next !== member) result = { ...result, [key]: next };
  }
  return result;
}

/** Metadata of embedded resources is an ObjectMeta: members it does not have are dropped. */
export function coerceEmbedded(value: unknown, schema: unknown): unknown {
  return mapEmbedded(value, schema, '', (resource) => {
    const { metadata } = resource;
    if (!isJsonObject(metadata)) return resource;
    const known = knownMetadata(metadata);
    return Object.keys(known).length === Object.keys(metadata).length ? resource : { ...resource, metadata: known };
  });
}

/** Why a body cannot even be read: apiVersion and kind are texts, metadata is an ObjectMeta. */
export function malformedResource(value: unknown, schema: unknown): string | undefined {
  let why: string | undefined;
  mapEmbedded(value, schema, '', (resource, path) => {
    const odd = (['apiVersion', 'kind'] as const).find((field) => {
      const member = resource[field];
      return member !== undefined && typeof member !== 'string';
    });
    const { metadata } = resource;
    if (odd !== undefined) why ??= `${path}.${odd}: Invalid value: ${faultValue(resource[odd])}: must be a string`;
    else if (metadata !== undefined && metadata !== null) {
      const field = isJsonObject(metadata)
        ? ['name', 'generateName', 'namespace', 'uid'].find(
            (name) => !['string', 'undefined'].includes(typeof metadata[name]),
          )
        : '';
      if (field !== undefined) {
        const reason =
          field === '' ? 'readObjectStart: expects { or n' : `v1.ObjectMeta.${field}: ReadString: expects " or n`;
        why ??= `${path}.metadata: Invalid value: ${faultValue(metadata)}: ${reason}`;
      }
    }
    return resource;
  });
  return why;
}

function invalid(field: string, value: unknown, detail: string): FieldFault {
  return { reason: 'FieldValueInvalid', field, value, detail };
}

function typeFaults(resource: JsonObject, path: string, field: 'apiVersion' | 'kind'): readonly FieldFault[] {
  const at = `${path}.${field}`;
  const value = resource[field];
  if (value === undefined) return [{ reason: 'FieldValueRequired', field: at, detail: 'must not be empty' }];
  if (typeof value !== 'string') return [invalid(at, value, 'must be a string')];
  if (value === '') return [invalid(at, value, 'must not be empty')];
  if (field === 'apiVersion') {
    return value.split('/').length > 2 ? [invalid(at, value, `unexpected GroupVersion string: ${value}`)] : [];
  }
  const [fault] = nameFaults('label-1035', value.toLowerCase(), at);
  return fault === undefined
    ? []
    : [invalid(at, value, `may have mixed case, but should otherwise match: ${fault.detail}`)];
}

function resourceFaults(resource: JsonObject, path: string): readonly FieldFault[] {
  const { metadata } = resource;
  const name = stringAt(metadata, 'name') ?? 'fakename';
  const named = isJsonObject(metadata) ? { ...metadata, name } : undefined;
  const inner =
    named === undefined ? [] : metadataFaults({ nameRule: 'path' }, { apiVersion: '', kind: '', metadata: named });
  return [
    ...typeFaults(resource, path, 'apiVersion'),
    ...typeFaults(resource, path, 'kind'),
    ...inner.map((fault) => ({ ...fault, field: `${path}.${fault.field}` })),
  ];
}

/** `x-kubernetes-embedded-resource`: an apiVersion, a kind and metadata as every object has them. */
export function embeddedFaults(value: unknown, schema: unknown): readonly FieldFault[] {
  const faults: FieldFault[] = [];
  mapEmbedded(value, schema, '', (resource, path) => {
    faults.push(...resourceFaults(resource, path));
    return resource;
  });
  return faults;
}
