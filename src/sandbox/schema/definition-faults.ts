import type { KubeObject } from '../../resources/kube-object.ts';
import { isJsonObject, listAt, objectAt, sameJson, stringAt, type JsonObject } from '../json-value.ts';
import { nameFaults } from '../metadata-rules.ts';
import type { FieldFault } from '../status-error.ts';
import { columnsFaults, versionSchemaFaults } from './definition-version-faults.ts';

const SCOPES = ['Cluster', 'Namespaced'];
const MIXED_CASE = 'may have mixed case, but should otherwise match: ';

function required(field: string, detail = ''): FieldFault {
  return { reason: 'FieldValueRequired', field, detail };
}

function invalid(field: string, value: unknown, detail: string): FieldFault {
  return { reason: 'FieldValueInvalid', field, value, detail };
}

function labelFaults(value: string, field: string, mixedCase: boolean): readonly FieldFault[] {
  if (value === '') return [];
  const details = nameFaults('label-1035', mixedCase ? value.toLowerCase() : value).map(({ detail }) => detail);
  if (details.length === 0) return [];
  return [invalid(field, value, `${mixedCase ? MIXED_CASE : ''}${details.join(',')}`)];
}

function groupFaults(spec: JsonObject): readonly FieldFault[] {
  const group = stringAt(spec, 'group') ?? '';
  if (group === '') return [required('spec.group')];
  const details = nameFaults('subdomain', group).map(({ detail }) => detail);
  if (details.length > 0) return [invalid('spec.group', group, details.join(','))];
  return group.includes('.') ? [] : [invalid('spec.group', group, 'should be a domain with at least one dot')];
}

function scopeFaults(spec: JsonObject): readonly FieldFault[] {
  const { scope } = spec;
  if (scope === undefined || scope === '') return [required('spec.scope')];
  if (typeof scope === 'string' && SCOPES.includes(scope)) return [];
  const detail = 'supported values: "Cluster", "Namespaced"';
  return [{ reason: 'FieldValueNotSupported', field: 'spec.scope', value: scope, detail }];
}

function namesFaults(names: JsonObject): readonly FieldFault[] {
  const text = (field: string): string => stringAt(names, field) ?? '';
  const [kind, listKind] = [text('kind'), text('listKind')];
  const missing = ['plural', 'singular', 'kind', 'listKind'].filter((field) => text(field) === '');
  const lists = ['shortNames', 'categories'] as const;
  const listed = (field: (typeof lists)[number]): readonly FieldFault[] =>
    listAt(names, field).flatMap((name, index) => labelFaults(String(name), `spec.names.${field}[${index}]`, false));
  return [
    ...missing.map((field) => required(`spec.names.${field}`)),
    ...labelFaults(text('plural'), 'spec.names.plural', false),
    ...labelFaults(text('singular'), 'spec.names.singular', false),
    ...labelFaults(kind, 'spec.names.kind', true),
    ...labelFaults(listKind, 'spec.names.listKind', true),
    ...listed('shortNames'),
    ...(kind !== '' && kind === listKind
      ? [invalid('spec.names.listKind', listKind, 'kind and listKind may not be the same')]
      : []),
    ...listed('categories'),
  ];
}

/** Go prints the whole of a CustomResourceDefinitionVersion, which nobody reads; here it is JSON. */
function aboutVersions(versions: readonly unknown[], detail: string): FieldFault {
  return invalid('spec.versions', versions, detail);
}

function schemaOf(version: JsonObject): unknown {
  return objectAt(version, 'schema')['openAPIV3Schema'];
}

function columnsOf(version: JsonObject): readonly unknown[] {
  return listAt(version, 'additionalPrinterColumns');
}

function isShared(versions: readonly JsonObject[], part: (version: JsonObject) => unknown): boolean {
  const [first] = versions;
  return first !== undefined && versions.every((version) => sameJson(part(version), part(first)));
}

function contentFaults(versions: readonly JsonObject[], schema: unknown, path: string): readonly FieldFault[] {
  const status = versions.some((version) => isJsonObject(objectAt(version, 'subresources')['status']));
  return isJsonObject(schema) ? versionSchemaFaults(schema, status, `${path}.openAPIV3Schema`) : [];
}

function versionsFaults(spec: JsonObject): readonly FieldFault[] {
  const versions = listAt(spec, 'versions').filter(isJsonObject);
  const names = versions.map((version) => stringAt(version, 'name') ?? '');
  const storage = versions.filter((version) => version['storage'] === true).length;
  return [
    ...versions.flatMap((version, index) =>
      isJsonObject(objectAt(version, 'schema')['openAPIV3Schema'])
        ? []
        : [required(`spec.versions[${index}].schema.openAPIV3Schema`, 'schemas are required')],
    ),
    ...versions.flatMap((version, index) => [
      ...nameFaults('label-1035', names[index] ?? '', `spec.versions[${index}].name`),
      ...(isShared(versions, schemaOf)
        ? []
        : contentFaults([version], schemaOf(version), `spec.versions[${index}].schema`)),
      ...(isShared(versions, columnsOf)
        ? []
        : columnsFaults(columnsOf(version), `spec.versions[${index}].additionalPrinterColumns`)),
    ]),
    ...(new Set(names).size < names.length ? [aboutVersions(versions, 'must contain unique version names')] : []),
    ...(storage === 1 ? [] : [aboutVersions(versions, 'must have exactly one version marked as storage version')]),
    ...(names[0] === undefined ? [] : nameFaults('label-1035', names[0], 'spec.version')),
  ];
}

/** The real server keeps what all versions have in common once, and names it so. */
function sharedFaults(spec: JsonObject): readonly FieldFault[] {
  const versions = listAt(spec, 'versions').filter(isJsonObject);
  const [first] = versions;
  if (first === undefined) return [];
  return [
    ...(isShared(versions, schemaOf) ? contentFaults(versions, schemaOf(first), 'spec.validation') : []),
    ...(isShared(versions, columnsOf) ? columnsFaults(columnsOf(first), 'spec.additionalPrinterColumns') : []),
    ...(spec['preserveUnknownFields'] !== true
      ? []
      : [
          invalid(
            'spec.preserveUnknownFields',
            true,
            'cannot set to true, set x-preserve-unknown-fields to true in spec.versions[*].schema instead',
          ),
        ]),
  ];
}

function statusFaults(object: KubeObject): readonly FieldFault[] {
  const stored = listAt(object['status'], 'storedVersions');
  const versions = listAt(object['spec'], 'versions').filter(isJsonObject);
  const names = versions.map((version) => version['name']);
  if (stored.length === 0) {
    const field = 'status.storedVersions';
    return [{ ...invalid(field, stored, 'must have at least one stored version'), shown: '[]string(nil)' }];
  }
  return stored.flatMap((name, index) =>
    names.includes(name) ? [] : [invalid(`status.storedVersions[${index}]`, name, 'must appear in spec.versions')],
  );
}

function changeFaults(spec: JsonObject, live: KubeObject): readonly FieldFault[] {
  const before = objectAt(live, 'spec');
  const established = listAt(live['status'], 'conditions').some(
    (condition) => isJsonObject(condition) && condition['type'] === 'Established' && condition['status'] === 'True',
  );
  const [names, old] = [objectAt(spec, 'names'), objectAt(before, 'names')];
  const detail = 'field is immutable';
  return [
    ...(!established || sameJson(spec['scope'], before['scope']) ? [] : [invalid('spec.scope', spec['scope'], detail)]),
    ...(!established || sameJson(names['kind'], old['kind'])
      ? []
      : [invalid('spec.names.kind', names['kind'], detail)]),
    ...(sameJson(spec['group'], before['group']) ? [] : [invalid('spec.group', spec['group'], detail)]),
    ...(sameJson(names['plural'], old['plural']) ? [] : [invalid('spec.names.plural', names['plural'], detail)]),
  ];
}

/** What the real server refuses of a CustomResourceDefinition. */
export function definitionFaults(object: KubeObject, live: KubeObject | undefined): readonly FieldFault[] {
  const spec = objectAt(object, 'spec');
  const names = objectAt(spec, 'names');
  const expected = `${stringAt(names, 'plural') ?? ''}.${stringAt(spec, 'group') ?? ''}`;
  const { name } = object.metadata;
  const misnamed = live === undefined && name !== expected;
  return [
    ...(misnamed ? [invalid('metadata.name', name, 'must be spec.names.plural+"."+spec.group')] : []),
    ...groupFaults(spec),
    ...scopeFaults(spec),
    ...versionsFaults(spec),
    ...namesFaults(names),
    ...sharedFaults(spec),
    ...(live === undefined ? [] : changeFaults(spec, live)),
    ...statusFaults(object),
  ];
}
