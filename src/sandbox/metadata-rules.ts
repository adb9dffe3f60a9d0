import type { KubeObject } from '../resources/kube-object.ts';
import { isJsonObject, stringAt, type JsonObject } from './json-value.ts';
import type { Kind } from './kind.ts';
import type { FieldFault } from './status-error.ts';

interface NameRule {
  readonly pattern: RegExp;
  readonly maxLength: number;
  readonly detail: string;
}

const SUBDOMAIN = String.raw`[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*`;

const NAME_RULES: Readonly<Record<Exclude<Kind['nameRule'], 'path'>, NameRule>> = {
  subdomain: {
    pattern: new RegExp(`^${SUBDOMAIN}$`),
    maxLength: 253,
    detail: String.raw`a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`,
  },
  label: {
    pattern: /^[a-z0-9](?:[-a-z0-9]*[a-z0-9])?$/,
    maxLength: 63,
    detail:
      "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')",
  },
  'label-1035': {
    pattern: /^[a-z](?:[-a-z0-9]*[a-z0-9])?$/,
    maxLength: 63,
    detail:
      "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')",
  },
};

/** The members of ObjectMeta; the server drops all others. */
const FIELDS: ReadonlySet<string> = new Set([
  'annotations',
  'creationTimestamp',
  'deletionGracePeriodSeconds',
  'deletionTimestamp',
  'finalizers',
  'generateName',
  'generation',
  'labels',
  'managedFields',
  'name',
  'namespace',
  'ownerReferences',
  'resourceVersion',
  'uid',
]);

export function knownMetadata(metadata: JsonObject): JsonObject {
  const fields = Object.entries(metadata);
  return fields.every(([field]) => FIELDS.has(field))
    ? metadata
    : Object.fromEntries(fields.filter(([field]) => FIELDS.has(field)));
}

const QUALIFIED_NAME = new RegExp(String.raw`^(?:${SUBDOMAIN}/)?([A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)$`);
const LABEL_VALUE = /^(?:[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?)?$/;
const LABEL_VALUE_DETAIL =
  "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
const QUALIFIED_NAME_DETAIL =
  "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const QUALIFIED_NAME_SHAPE_DETAIL = `${QUALIFIED_NAME_DETAIL.replace('name part', 'a qualified name')} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`;
const MAX_ANNOTATIONS_BYTES = 256 * 1024;

function fault(field: string, value: unknown, detail: string): FieldFault {
  return { reason: 'FieldValueInvalid', field, value, detail };
}

function pathSegmentFaults(name: string, field: string): readonly FieldFault[] {
  if (name === '.' || name === '..') return [fault(field, name, `may not be '${name}'`)];
  return ['/', '%']
    .filter((sign) => name.includes(sign))
    .map((sign) => fault(field, name, `may not contain '${sign}'`));
}

export function nameFaults(rule: Kind['nameRule'], name: string, field = 'metadata.name'): readonly FieldFault[] {
  if (rule === 'path') return pathSegmentFaults(name, field);
  const { pattern, maxLength, detail } = NAME_RULES[rule];
  return [
    ...(name.length > maxLength ? [fault(field, name, `must be no more than ${maxLength} characters`)] : []),
    ...(pattern.test(name) ? [] : [fault(field, name, detail)]),
  ];
}

function qualifiedNameFaults(field: string, key: string): readonly FieldFault[] {
  if (QUALIFIED_NAME.test(key)) return [];
  return [fault(field, key, key.split('/').length > 2 ? QUALIFIED_NAME_SHAPE_DETAIL : QUALIFIED_NAME_DETAIL)];
}

function labelFaults(labels: Readonly<Record<string, unknown>>): readonly FieldFault[] {
  return Object.entries(labels).flatMap(([key, value]) => [
    ...qualifiedNameFaults('metadata.labels', key),
    ...(typeof value === 'string' && value.length > 63
      ? [fault('metadata.labels', value, 'must be no more than 63 characters')]
      : []),
    ...(typeof value === 'string' && LABEL_VALUE.test(value)
      ? []
      : [fault('metadata.labels', value, LABEL_VALUE_DETAIL)]),
  ]);
}

function annotationFaults(annotations: Readonly<Record<string, unknown>>): readonly FieldFault[] {
  const bytes = Object.entries(annotations).reduce((sum, [key, value]) => sum + key.length + String(value).length, 0);
  return [
    ...Object.keys(annotations).flatMap((key) => qualifiedNameFaults('metadata.annotations', key)),
    ...(bytes > MAX_ANNOTATIONS_BYTES
      ? [
          {
            reason: 'FieldValueTooLong' as const,
            field: 'metadata.annotations',
            detail: `may not be more than ${MAX_ANNOTATIONS_BYTES} bytes`,
          },
        ]
      : []),
  ];
}

function ownerFaults(owners: readonly unknown[]): readonly FieldFault[] {
  const missing = owners.flatMap((owner) =>
    ['apiVersion', 'kind', 'name', 'uid']
      .filter((field) => !isJsonObject(owner) || typeof owner[field] !== 'string' || owner[field] === '')
      .map((field) => {
        const what = field === 'apiVersion' ? 'version' : field;
        return fault(`metadata.ownerReferences.${field}`, '', `${what} must not be empty`);
      }),
  );
  const events = owners
    .filter((owner) => isJsonObject(owner) && owner['apiVersion'] === 'v1' && owner['kind'] === 'Event')
    .map((owner) => fault('metadata.ownerReferences', owner, '/v1, Kind=Event is disallowed from being an owner'));
  const controllers = owners.filter((owner) => isJsonObject(owner) && owner['controller'] === true);
  const twice = 'Only one reference can have Controller set to true';
  return controllers.length > 1
    ? [...missing, ...events, fault('metadata.ownerReferences', owners, twice)]
    : [...missing, ...events];
}

function generateNameFaults(rule: Kind['nameRule'], generateName: string): readonly FieldFault[] {
  const shown = nameFaults(rule, generateName.replace(/-$/, ''), 'metadata.generateName');
  return shown.map((found) => ({ ...found, value: generateName }));
}

/** Built-in kinds take finalizers without a domain from Kubernetes itself alone. */
const STANDARD_FINALIZERS: ReadonlySet<string> = new Set([
  'kubernetes',
  'orphan',
  'foregroundDeletion',
  'customresourcecleanup.apiextensions.k8s.io',
]);

function shortFinalizerFaults(finalizers: readonly string[]): readonly FieldFault[] {
  const detail = 'name is neither a standard finalizer name nor is it fully qualified';
  return finalizers.flatMap((finalizer, index) =>
    finalizer.includes('/') || STANDARD_FINALIZERS.has(finalizer)
      ? []
      : [fault(`metadata.finalizers[${index}]`, finalizer, detail)],
  );
}

/** What every object's metadata must keep to, as apimachinery's ValidateObjectMeta has it. */
export function metadataFaults(
  kind: Pick<Kind, 'nameRule'> & Partial<Pick<Kind, 'custom'>>,
  object: KubeObject,
): readonly FieldFault[] {
  const { name, labels, annotations, ownerReferences, finalizers } = object.metadata;
  const generateName = stringAt(object.metadata, 'generateName') ?? '';
  return [
    // A dash at its end is fine: letters follow.
    ...(generateName === '' ? [] : generateNameFaults(kind.nameRule, generateName)),
    ...nameFaults(kind.nameRule, name),
    ...labelFaults(labels ?? {}),
    ...annotationFaults(annotations ?? {}),
    ...ownerFaults(ownerReferences ?? []),
    ...(finalizers ?? []).flatMap((finalizer) => qualifiedNameFaults('metadata.finalizers', finalizer)),
    ...(kind.custom === false ? shortFinalizerFaults(finalizers ?? []) : []),
  ];
}
