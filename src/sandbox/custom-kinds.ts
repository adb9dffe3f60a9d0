import type { KubeObject } from '../resources/kube-object.ts';
import { age, ageColumn, nameColumn } from './built-in-columns.ts';
import { evaluateJsonPath } from './json-path.ts';
import { isJsonObject, listAt, objectAt, stringAt, type JsonObject } from './json-value.ts';
import type { Column, Kind } from './kind.ts';
import { customSchema } from './schema/custom-schema.ts';
import { structureOfSchema } from './structure.ts';

/** Keeps a definition until its instances are gone. */
export const CLEANUP_FINALIZER = 'customresourcecleanup.apiextensions.k8s.io';

const TYPES: Readonly<Record<string, Column['type']>> = {
  integer: 'integer',
  number: 'number',
  boolean: 'boolean',
  date: 'date',
};

function columnOf(definition: JsonObject): Column {
  const path = stringAt(definition, 'jsonPath') ?? '';
  const type = TYPES[stringAt(definition, 'type') ?? ''] ?? 'string';
  const format = stringAt(definition, 'format');
  return {
    name: stringAt(definition, 'name') ?? '',
    type,
    ...(format === undefined ? {} : { format }),
    description: stringAt(definition, 'description') ?? '',
    priority: typeof definition['priority'] === 'number' ? definition['priority'] : 0,
    value: (object, now) => {
      const [value] = evaluateJsonPath(path, object);
      if (type === 'date') return typeof value === 'string' ? age(value, now) : null;
      if (type !== 'string') return value ?? null;
      return value === undefined || value === null || typeof value === 'string'
        ? (value ?? null)
        : JSON.stringify(value);
    },
  };
}

function columnsOf(version: JsonObject): readonly Column[] {
  const definitions = listAt(version, 'additionalPrinterColumns').filter(isJsonObject);
  return [nameColumn, ...(definitions.length === 0 ? [ageColumn] : definitions.map(columnOf))];
}

/** The served versions of a CustomResourceDefinition, the storage version first. */
export function kindsOf(definition: KubeObject): readonly Kind[] {
  const spec = objectAt(definition, 'spec');
  const names = objectAt(spec, 'names');
  const versions = listAt(spec, 'versions').filter(isJsonObject);
  const kind = stringAt(names, 'kind') ?? '';
  return versions
    .filter((version) => version['served'] === true)
    .toSorted((left, right) => Number(right['storage'] === true) - Number(left['storage'] === true))
    .map((version): Kind => {
      const { openAPIV3Schema } = objectAt(version, 'schema');
      const preserveUnknownFields = spec['preserveUnknownFields'] === true;
      const schema = customSchema(openAPIV3Schema, { preserveUnknownFields });
      return {
        group: stringAt(spec, 'group') ?? '',
        version: stringAt(version, 'name') ?? '',
        kind,
        plural: stringAt(names, 'plural') ?? '',
        singular: stringAt(names, 'singular') ?? kind.toLowerCase(),
        shortNames: listAt(names, 'shortNames').map(String),
        categories: listAt(names, 'categories').map(String),
        namespaced: spec['scope'] !== 'Cluster',
        custom: true,
        hasStatus: isJsonObject(objectAt(version, 'subresources')['status']),
        hasGeneration: true,
        nameRule: 'subdomain',
        structure: structureOfSchema(openAPIV3Schema),
        ...(schema === undefined ? {} : { schema }),
        columns: columnsOf(version),
      };
    });
}

/** Defaults that the real server fills in. */
export function prepareDefinition(object: KubeObject, live: KubeObject | undefined): KubeObject {
  const spec = objectAt(object, 'spec');
  const names = objectAt(spec, 'names');
  const kind = stringAt(names, 'kind') ?? '';
  const status =
    live === undefined
      ? { conditions: [], acceptedNames: { plural: '', kind: '' }, storedVersions: storedVersions(spec) }
      : object['status'];
  return {
    ...object,
    spec: {
      ...spec,
      names: {
        ...names,
        singular: names['singular'] ?? kind.toLowerCase(),
        ...(kind === '' ? {} : { listKind: names['listKind'] ?? `${kind}List` }),
      },
      conversion: spec['conversion'] ?? { strategy: 'None' },
    },
    status,
  };
}

export function storedVersions(spec: JsonObject): readonly unknown[] {
  return listAt(spec, 'versions')
    .filter((version) => isJsonObject(version) && version['storage'] === true)
    .map((version) => objectAt({ version }, 'version')['name']);
}
