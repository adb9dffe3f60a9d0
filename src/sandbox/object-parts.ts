import type { KubeObject, ObjectMeta } from '../resources/kube-object.ts';
import { isJsonObject, sameJson } from './json-value.ts';
import { groupVersion, type Kind } from './kind.ts';
import { StatusError, type FieldFault } from './status-error.ts';

export type Subresource = '' | 'status' | 'finalize';

/** What a create is compared with. A built-in type always has its sections, so nobody owns their existence. */
export function emptyObject(kind: Kind): KubeObject {
  const sections = kind.custom ? {} : { spec: {}, status: {} };
  return { apiVersion: groupVersion(kind), kind: kind.kind, metadata: { name: '' }, ...sections };
}

function withoutStatus(object: KubeObject): KubeObject {
  const { status: _, ...rest } = object;
  return { ...rest, apiVersion: object.apiVersion, kind: object.kind, metadata: object.metadata };
}

function withStatusOf(object: KubeObject, source: KubeObject): KubeObject {
  return source['status'] === undefined ? withoutStatus(object) : { ...object, status: source['status'] };
}

/** The part of an applied configuration that its endpoint takes. */
export function scoped(kind: Kind, config: KubeObject, subresource: Subresource): KubeObject {
  if (subresource === '') return kind.hasStatus ? withoutStatus(config) : config;
  const { apiVersion, kind: kindName } = config;
  const { name, namespace } = config.metadata;
  const metadata = namespace === undefined ? { name } : { name, namespace };
  return withStatusOf({ apiVersion, kind: kindName, metadata }, config);
}

/** The candidate, with everything that its endpoint does not write put back as it was. */
export function onlyWhatItWrites(
  kind: Kind,
  live: KubeObject,
  candidate: KubeObject,
  subresource: Subresource,
): KubeObject {
  if (subresource === '') return kind.hasStatus ? withStatusOf(candidate, live) : candidate;
  const { managedFields: _, ...metadata } = live.metadata;
  const owners = candidate.metadata.managedFields;
  const base = { ...live, metadata: owners === undefined ? metadata : { ...metadata, managedFields: owners } };
  if (subresource === 'status') return withStatusOf(base, candidate);
  const spec = isJsonObject(live['spec']) ? live['spec'] : {};
  const wanted = isJsonObject(candidate['spec']) ? candidate['spec'] : {};
  return { ...base, spec: { ...spec, finalizers: wanted['finalizers'] ?? [] } };
}

const SERVER_FIELDS = [
  'uid',
  'resourceVersion',
  'generation',
  'creationTimestamp',
  'deletionTimestamp',
  'deletionGracePeriodSeconds',
  'generateName',
] as const;

/** A writer cannot change what the server sets. */
export function withServerFields(metadata: ObjectMeta, live: ObjectMeta): ObjectMeta {
  const result = new Map<string, unknown>(Object.entries(metadata));
  const before = new Map<string, unknown>(Object.entries(live));
  for (const field of SERVER_FIELDS) {
    if (before.has(field)) result.set(field, before.get(field));
    else result.delete(field);
  }
  return { ...Object.fromEntries(result), name: live.name };
}

/** For telling a write that changes nothing: times of managers and the revision do not count. */
export function withoutTimes(object: KubeObject): unknown {
  const { resourceVersion: _, managedFields, ...metadata } = object.metadata;
  const owners = (managedFields ?? []).map(({ time: __, ...owner }) => owner);
  return { ...object, metadata: { ...metadata, managedFields: owners } };
}

/** Whether `metadata.generation` counts the change: anything but metadata and, where it is a subresource, status. */
export function desiredChanged(kind: Kind, live: KubeObject, next: KubeObject): boolean {
  const desired = (object: KubeObject): unknown => {
    const { metadata: _, ...rest } = object;
    if (!kind.hasStatus) return rest;
    const { status: __, ...withoutStatus } = rest;
    return withoutStatus;
  };
  return !sameJson(desired(live), desired(next));
}

/** An object is deleted by DELETE alone, and that is not taken back. */
export function deletionFaults(live: ObjectMeta, candidate: ObjectMeta): readonly FieldFault[] {
  const { deletionTimestamp: value } = candidate;
  if (value === undefined || value === null || value === live.deletionTimestamp) return [];
  return [{ reason: 'FieldValueInvalid', field: 'metadata.deletionTimestamp', value, detail: 'field is immutable' }];
}

export function finalizerFaults(live: ObjectMeta, next: ObjectMeta): readonly FieldFault[] {
  if (live.deletionTimestamp === undefined) return [];
  const added = (next.finalizers ?? []).filter((finalizer) => !(live.finalizers ?? []).includes(finalizer));
  if (added.length === 0) return [];
  const list = added.map((finalizer) => JSON.stringify(finalizer)).join(', ');
  const detail = `no new finalizers can be added if the object is being deleted, found new finalizers []string{${list}}`;
  return [{ reason: 'FieldValueForbidden', field: 'metadata.finalizers', detail }];
}

/** etcd's limit of one request. */
const MAX_OBJECT_BYTES = 1.5 * 1024 * 1024;

/** @throws StatusError 500, as etcd's refusal reaches clients */
export function checkSize(object: KubeObject): void {
  if (Buffer.byteLength(JSON.stringify(object)) <= MAX_OBJECT_BYTES) return;
  throw new StatusError(500, '', 'etcdserver: request is too large');
}

/** Being deleted, and nothing holds it any more. */
export function isFinal(object: KubeObject): boolean {
  if (object.metadata.deletionTimestamp === undefined) return false;
  if ((object.metadata.finalizers ?? []).length > 0) return false;
  if (object.kind !== 'Namespace' || object.apiVersion !== 'v1') return true;
  const spec = isJsonObject(object['spec']) ? object['spec'] : {};
  return !Array.isArray(spec['finalizers']) || spec['finalizers'].length === 0;
}
