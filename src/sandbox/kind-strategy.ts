import type { KubeObject } from '../resources/kube-object.ts';
import { prepareWebhooks, webhookFaults } from './admission/webhook-configuration.ts';
import { prepareDefinition } from './custom-kinds.ts';
import { eventFaults } from './event-rules.ts';
import { isJsonObject, objectAt, sameJson, stringAt, type JsonObject } from './json-value.ts';
import { resourceOf, type Kind } from './kind.ts';
import { definitionFaults } from './schema/definition-faults.ts';
import { badRequest, type FieldFault } from './status-error.ts';

/** What one built-in kind does to its objects before they are stored. */
export interface KindStrategy {
  readonly prepare: (object: KubeObject, live: KubeObject | undefined) => KubeObject;
  readonly faults: (object: KubeObject, live: KubeObject | undefined) => readonly FieldFault[];
}

const asItIs: KindStrategy = { prepare: (object) => object, faults: () => [] };

/** etcd and the kubelet take no more in one ConfigMap or Secret. */
const MAX_CONTENT_BYTES = 1024 * 1024;

function immutable(field: string): FieldFault {
  return { reason: 'FieldValueForbidden', field, detail: 'field is immutable when `immutable` is set' };
}

function contentFaults(object: KubeObject, live: KubeObject | undefined): readonly FieldFault[] {
  const texts = Object.values(objectAt(object, 'data'));
  const binaries = Object.values(objectAt(object, 'binaryData'));
  const secret = object.kind === 'Secret';
  const size =
    texts.reduce<number>((sum, text) => sum + Buffer.byteLength(String(text), secret ? 'base64' : 'utf8'), 0) +
    binaries.reduce<number>((sum, text) => sum + Buffer.byteLength(String(text), 'base64'), 0);
  const faults: FieldFault[] = [];
  if (size > MAX_CONTENT_BYTES) {
    const detail = `may not be more than ${MAX_CONTENT_BYTES} bytes`;
    faults.push({ reason: 'FieldValueTooLong', field: secret ? 'data' : '', detail });
  }
  if (live?.['immutable'] === true) {
    if (object['immutable'] !== true) faults.push(immutable('immutable'));
    if (!sameJson(object['data'], live['data'])) faults.push(immutable('data'));
  }
  return faults;
}

/** Numbers and booleans in `data` are the most common mistake; bytes must be base64. @throws StatusError 400 */
function checkTexts(object: KubeObject, field: string, base64: boolean): void {
  const { kind } = object;
  for (const value of Object.values(objectAt(object, field))) {
    if (typeof value !== 'string') {
      const why = `json: cannot unmarshal ${typeof value} into Go struct field ${kind}.${field} of type string`;
      throw badRequest(`${kind} in version "v1" cannot be handled as a ${kind}: ${why}`);
    }
    if (base64 && !BASE64.test(value.replaceAll(/[\r\n]/g, ''))) {
      throw badRequest(`${kind} in version "v1" cannot be handled as a ${kind}: illegal base64 data`);
    }
  }
}

const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

function prepareConfigMap(object: KubeObject): KubeObject {
  checkTexts(object, 'data', false);
  checkTexts(object, 'binaryData', true);
  return object;
}

function prepareSecret(object: KubeObject): KubeObject {
  checkTexts(object, 'data', true);
  checkTexts(object, 'stringData', false);
  const { stringData, ...rest } = object;
  const data: JsonObject = { ...objectAt(object, 'data') };
  for (const [key, value] of Object.entries(isJsonObject(stringData) ? stringData : {})) {
    data[key] = Buffer.from(String(value)).toString('base64');
  }
  const type = stringAt(object, 'type') ?? 'Opaque';
  return Object.keys(data).length === 0 ? { ...rest, type } : { ...rest, data, type };
}

function secretFaults(object: KubeObject, live: KubeObject | undefined): readonly FieldFault[] {
  const faults = contentFaults(object, live);
  if (live === undefined || object['type'] === live['type']) return faults;
  const detail = 'field is immutable';
  return [...faults, { reason: 'FieldValueInvalid', field: 'type', value: object['type'], detail }];
}

function prepareNamespace(object: KubeObject, live: KubeObject | undefined): KubeObject {
  const labels = { ...object.metadata.labels, 'kubernetes.io/metadata.name': object.metadata.name };
  const spec = live === undefined ? { finalizers: ['kubernetes'] } : objectAt(live, 'spec');
  const status = live === undefined ? { phase: 'Active' } : object['status'];
  return { ...object, metadata: { ...object.metadata, labels }, spec, status };
}

const strategies: Readonly<Record<string, KindStrategy>> = {
  namespaces: { ...asItIs, prepare: prepareNamespace },
  configmaps: { prepare: prepareConfigMap, faults: contentFaults },
  secrets: { prepare: prepareSecret, faults: secretFaults },
  events: { ...asItIs, faults: eventFaults },
  'customresourcedefinitions.apiextensions.k8s.io': { prepare: prepareDefinition, faults: definitionFaults },
  'validatingwebhookconfigurations.admissionregistration.k8s.io': { prepare: prepareWebhooks, faults: webhookFaults },
  'mutatingwebhookconfigurations.admissionregistration.k8s.io': { prepare: prepareWebhooks, faults: webhookFaults },
};

export function strategyOf(kind: Kind): KindStrategy {
  return strategies[resourceOf(kind)] ?? asItIs;
}
