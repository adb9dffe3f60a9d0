import type { KubeObject } from '../resources/kube-object.ts';
import { definitionFaults, prepareDefinition } from './custom-kinds.ts';
import { isJsonObject, objectAt, sameJson, stringAt, type JsonObject } from './json-value.ts';
import { resourceOf, type Kind } from './kind.ts';
import type { FieldFault } from './status-error.ts';

/** What one built-in kind does to its objects before they are stored. */
export interface KindStrategy {
  readonly prepare: (object: KubeObject, live: KubeObject | undefined) => KubeObject;
  readonly faults: (object: KubeObject, live: KubeObject | undefined) => readonly FieldFault[];
}

const asItIs: KindStrategy = { prepare: (object) => object, faults: () => [] };

function immutable(field: string): FieldFault {
  return { reason: 'FieldValueForbidden', field, detail: 'field is immutable when `immutable` is set' };
}

function contentFaults(object: KubeObject, live: KubeObject | undefined): readonly FieldFault[] {
  if (live?.['immutable'] !== true) return [];
  return [
    ...(object['immutable'] === true ? [] : [immutable('immutable')]),
    ...(sameJson(object['data'], live['data']) ? [] : [immutable('data')]),
  ];
}

function stringDataToData(object: KubeObject): KubeObject {
  const { stringData, ...rest } = object;
  const data: JsonObject = { ...objectAt(object, 'data') };
  for (const [key, value] of Object.entries(isJsonObject(stringData) ? stringData : {})) {
    data[key] = Buffer.from(String(value)).toString('base64');
  }
  const type = stringAt(object, 'type') ?? 'Opaque';
  return Object.keys(data).length === 0 ? { ...rest, type } : { ...rest, data, type };
}

function secretFaults(object: KubeObject, live: KubeObject | undefined): readonly FieldFault[] {
  const size = Object.values(objectAt(object, 'data')).reduce<number>(
    (sum, value) => sum + Buffer.byteLength(String(value), 'base64'),
    0,
  );
  return [
    ...contentFaults(object, live),
    ...(size > 1024 * 1024
      ? [{ reason: 'FieldValueTooLong' as const, field: 'data', detail: 'may not be more than 1048576 bytes' }]
      : []),
    ...(live === undefined || object['type'] === live['type']
      ? []
      : [{ reason: 'FieldValueInvalid' as const, field: 'type', value: object['type'], detail: 'field is immutable' }]),
  ];
}

function prepareNamespace(object: KubeObject, live: KubeObject | undefined): KubeObject {
  const labels = { ...object.metadata.labels, 'kubernetes.io/metadata.name': object.metadata.name };
  const spec = live === undefined ? { finalizers: ['kubernetes'] } : objectAt(live, 'spec');
  const status = live === undefined ? { phase: 'Active' } : object['status'];
  return { ...object, metadata: { ...object.metadata, labels }, spec, status };
}

const strategies: Readonly<Record<string, KindStrategy>> = {
  namespaces: { ...asItIs, prepare: prepareNamespace },
  configmaps: { ...asItIs, faults: contentFaults },
  secrets: { prepare: stringDataToData, faults: secretFaults },
  'customresourcedefinitions.apiextensions.k8s.io': { prepare: prepareDefinition, faults: definitionFaults },
};

export function strategyOf(kind: Kind): KindStrategy {
  return strategies[resourceOf(kind)] ?? asItIs;
}
