import type { KubeObject } from '../resources/kube-object.ts';
import { stringAt } from './json-value.ts';
import { badRequest } from './status-error.ts';

export type Matches = (object: KubeObject) => boolean;

const LABEL = String.raw`[A-Za-z0-9](?:[A-Za-z0-9._/-]*[A-Za-z0-9])?`;
const SET_BASED = new RegExp(String.raw`^\s*(${LABEL})\s+(in|notin)\s*\(([^()]*)\)\s*$`);
const EQUALITY = new RegExp(String.raw`^\s*(${LABEL})\s*(==|!=|=)\s*([A-Za-z0-9._-]*)\s*$`);
const PRESENCE = new RegExp(String.raw`^\s*(!?)\s*(${LABEL})\s*$`);

/** Commas inside parentheses separate values, not requirements. */
function requirements(selector: string): readonly string[] {
  return selector.split(/,(?![^()]*\))/);
}

function labelRequirement(text: string): Matches {
  const labelsOf = (object: KubeObject): Readonly<Record<string, string>> => object.metadata.labels ?? {};
  const setBased = SET_BASED.exec(text);
  if (setBased !== null) {
    const [, key = '', operator, list = ''] = setBased;
    const values = new Set(list.split(',').map((value) => value.trim()));
    return (object) => {
      const value = labelsOf(object)[key];
      return (value !== undefined && values.has(value)) === (operator === 'in');
    };
  }
  const equality = EQUALITY.exec(text);
  if (equality !== null) {
    const [, key = '', operator, value] = equality;
    return (object) => (labelsOf(object)[key] === value) === (operator !== '!=');
  }
  const presence = PRESENCE.exec(text);
  if (presence !== null) {
    const [, negated, key = ''] = presence;
    return (object) => Object.hasOwn(labelsOf(object), key) === (negated === '');
  }
  throw badRequest(`unable to parse requirement: found '${text.trim()}', expected: label selector`);
}

/** `a=b,c!=d,e in (f,g),h notin (i),j,!k`; empty selects everything. @throws StatusError 400 */
export function parseLabelSelector(selector: string | undefined): Matches {
  if (selector === undefined || selector.trim() === '') return () => true;
  const parts = requirements(selector).map(labelRequirement);
  return (object) => parts.every((matches) => matches(object));
}

const EVENT_FIELDS: ReadonlySet<string> = new Set([
  ...['kind', 'namespace', 'name', 'uid', 'apiVersion', 'resourceVersion', 'fieldPath'].map(
    (field) => `involvedObject.${field}`,
  ),
  'reason',
  'reportingComponent',
  'source',
  'type',
]);

/** Selectable fields of a resource beyond name and namespace, which every resource has. */
function maySelect(resource: string, field: string): boolean {
  if (field === 'metadata.name' || field === 'metadata.namespace') return true;
  if (resource === 'events') return EVENT_FIELDS.has(field);
  if (resource === 'secrets') return field === 'type';
  if (resource === 'namespaces') return field === 'status.phase';
  return resource === 'pods' && ['spec.nodeName', 'status.phase'].includes(field);
}

function fieldOf(resource: string, object: KubeObject, field: string): string {
  if (resource === 'events' && field === 'source') return stringAt(object['source'], 'component') ?? '';
  let value: unknown = object;
  for (const part of field.split('.')) {
    value = typeof value === 'object' && value !== null ? Reflect.get(value, part) : undefined;
  }
  return typeof value === 'string' ? value : '';
}

/** `metadata.name=a,metadata.namespace!=b`; `\` escapes `,`, `=` and itself. @throws StatusError 400 */
export function parseFieldSelector(resource: string, selector: string | undefined): Matches {
  if (selector === undefined || selector.trim() === '') return () => true;
  const parts = selector.split(/(?<!\\),/).map((text): Matches => {
    const match = /^([^=!]+)(==|!=|=)(.*)$/s.exec(text);
    const [, field = '', operator = '', raw = ''] = match ?? [];
    if (match === null) throw badRequest(`invalid selector: '${selector}'; can't understand '${text}'`);
    if (!maySelect(resource, field)) throw badRequest(`field label not supported: ${field}`);
    const value = raw.replaceAll(/\\([\\,=])/g, '$1');
    return (object) => (fieldOf(resource, object, field) === value) === (operator !== '!=');
  });
  return (object) => parts.every((matches) => matches(object));
}
