import type { KubeObject } from '../resources/kube-object.ts';
import { stringAt } from './json-value.ts';
import type { Kind } from './kind.ts';
import { rfc3339 } from './rfc3339.ts';
import { invalid } from './status-error.ts';

const ALPHABET = 'bcdfghjklmnpqrstvwxz2456789';
/** What is left of a `generateName`, so that the whole is a label. */
const MAX_BASE_LENGTH = 58;

/** Set by the server alone. */
const SERVER_FIELDS: ReadonlySet<string> = new Set([
  'creationTimestamp',
  'deletionGracePeriodSeconds',
  'deletionTimestamp',
  'generation',
  'resourceVersion',
  'uid',
]);

/** What a create takes over of what was sent. */
export function draftOf(kind: Kind, object: KubeObject): KubeObject {
  const metadata = Object.entries(object.metadata).filter(([field]) => !SERVER_FIELDS.has(field));
  const { status: _, ...rest } = object;
  return {
    ...(kind.hasStatus ? rest : object),
    apiVersion: object.apiVersion,
    kind: object.kind,
    metadata: { ...Object.fromEntries(metadata), name: object.metadata.name },
  };
}

/** With a name (made from `generateName` where there is none), a UID, a creation time. @throws StatusError 422 */
export function identified(
  kind: Kind,
  draft: KubeObject,
  deps: { readonly now: Date; readonly uuid: () => string; readonly random: () => number },
): KubeObject {
  const base = stringAt(draft.metadata, 'generateName');
  const suffix = (): string =>
    Array.from({ length: 5 }, () => ALPHABET.charAt(Math.floor(deps.random() * ALPHABET.length))).join('');
  const given = draft.metadata.name;
  const name = given === '' && base !== undefined ? `${base.slice(0, MAX_BASE_LENGTH)}${suffix()}` : given;
  if (name === '') {
    const detail = 'name or generateName is required';
    throw invalid(kind, '', [{ reason: 'FieldValueRequired', field: 'metadata.name', detail }]);
  }
  return {
    ...draft,
    metadata: {
      ...draft.metadata,
      name,
      uid: deps.uuid(),
      creationTimestamp: rfc3339(deps.now),
      ...(kind.hasGeneration ? { generation: 1 } : {}),
    },
  };
}
