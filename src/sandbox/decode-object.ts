import type { KubeObject } from '../resources/kube-object.ts';
import { isJsonObject, type JsonObject } from './json-value.ts';
import { groupVersion, type Kind } from './kind.ts';
import { knownMetadata } from './metadata-rules.ts';
import { malformedResource } from './schema/embedded-resource.ts';
import { badRequest } from './status-error.ts';

const STRING_FIELDS = ['name', 'generateName', 'namespace', 'uid', 'resourceVersion'] as const;

function badField(kind: Kind, why: string): Error {
  return badRequest(`${kind.kind} in version "${kind.version}" cannot be handled as a ${kind.kind}: ${why}`);
}

function checkMetadata(kind: Kind, metadata: JsonObject): void {
  for (const field of STRING_FIELDS) {
    const value = metadata[field];
    if (value !== undefined && value !== null && typeof value !== 'string') {
      throw badField(
        kind,
        `json: cannot unmarshal ${typeof value} into Go struct field ObjectMeta.metadata.${field} of type string`,
      );
    }
  }
  for (const field of ['labels', 'annotations']) {
    const map = metadata[field];
    if (map === undefined || map === null) continue;
    if (!isJsonObject(map) || Object.values(map).some((value) => typeof value !== 'string')) {
      throw badField(kind, `json: cannot unmarshal ObjectMeta.metadata.${field} into map[string]string`);
    }
  }
  for (const field of ['finalizers', 'ownerReferences', 'managedFields']) {
    const list = metadata[field];
    if (list !== undefined && list !== null && !Array.isArray(list)) {
      throw badField(kind, `json: cannot unmarshal into Go struct field ObjectMeta.metadata.${field}`);
    }
  }
}

/** Empty and null metadata members are the same as absent ones, as Go's `omitempty` has it. */
function withoutEmpty(metadata: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(metadata).filter(([field, value]) => {
      if (value === null || value === undefined || value === '') return false;
      if (field === 'managedFields') return true;
      if (Array.isArray(value)) return value.length > 0;
      return !isJsonObject(value) || Object.keys(value).length > 0;
    }),
  );
}

/** With the defaults of its schema and without what the schema does not know; built-in kinds stay as they are. */
export function shaped(kind: Kind, object: KubeObject): KubeObject {
  return kind.schema?.shape(object) ?? object;
}

/** With the defaults of its schema alone: an apply is not pruned. */
export function defaulted(kind: Kind, object: KubeObject): KubeObject {
  return kind.schema?.withDefaults(object) ?? object;
}

/** Reads a body as an object of the kind that the URL names, defaults filled in. @throws StatusError 400 */
export function decodeObject(kind: Kind, body: unknown): KubeObject {
  const object = readObject(kind, body);
  const fault = kind.schema === undefined ? undefined : malformedResource(object, kind.schema.schema);
  if (fault !== undefined) throw badField(kind, fault);
  return shaped(kind, object);
}

/** Reads a body as it was sent: for an apply, whose sender owns what it sent and no defaults. @throws StatusError 400 */
export function readObject(kind: Kind, body: unknown): KubeObject {
  if (!isJsonObject(body)) {
    throw badRequest(
      `the object provided is unrecognized (must be of type ${kind.kind}): couldn't get version/kind; json parse error`,
    );
  }
  const expected = groupVersion(kind);
  const { apiVersion = kind.custom ? '' : expected, kind: kindName = kind.custom ? '' : kind.kind } = body;
  if (kindName === '') throw badRequest(`Object 'Kind' is missing in '${JSON.stringify(body).slice(0, 200)}'`);
  if (apiVersion === '') throw badRequest(`Object 'apiVersion' is missing in '${JSON.stringify(body).slice(0, 200)}'`);
  if (apiVersion !== expected) {
    throw badRequest(
      `the API version in the data (${String(apiVersion)}) does not match the expected API version (${expected})`,
    );
  }
  if (kindName !== kind.kind) {
    throw badRequest(`the kind in the data (${String(kindName)}) does not match the expected kind (${kind.kind})`);
  }
  const metadata = body['metadata'] ?? {};
  if (!isJsonObject(metadata)) throw badField(kind, 'json: cannot unmarshal into Go value of type v1.ObjectMeta');
  checkMetadata(kind, metadata);
  const clean = withoutEmpty(knownMetadata(metadata));
  if (!kind.namespaced) delete clean['namespace'];
  return { ...body, apiVersion: expected, kind: kind.kind, metadata: { name: '', ...clean } };
}

/** The body's namespace is the URL's, or absent. @throws StatusError 400 */
export function placeObject(kind: Kind, object: KubeObject, namespace: string | undefined): KubeObject {
  if (!kind.namespaced || namespace === undefined) return object;
  const own = object.metadata.namespace;
  if (own !== undefined && own !== namespace) {
    throw badRequest('the namespace of the provided object does not match the namespace sent on the request');
  }
  return { ...object, metadata: { ...object.metadata, namespace } };
}

/** Name and namespace of an update are the URL's. @throws StatusError 400 */
export function checkAddress(object: KubeObject, namespace: string | undefined, name: string): KubeObject {
  const own = object.metadata;
  if (own.name !== '' && own.name !== name) {
    throw badRequest(`the name of the object (${own.name}) does not match the name on the URL (${name})`);
  }
  if (namespace !== undefined && own.namespace !== undefined && own.namespace !== namespace) {
    throw badRequest(
      `the namespace of the object (${own.namespace}) does not match the namespace on the URL (${namespace})`,
    );
  }
  return { ...object, metadata: { ...own, name, ...(namespace === undefined ? {} : { namespace }) } };
}
