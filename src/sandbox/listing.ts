import type { KubeObject } from '../resources/kube-object.ts';
import { decodeContinue, encodeContinue } from './continue-token.ts';
import { shaped } from './decode-object.ts';
import { groupVersion, resourceOf, type Kind } from './kind.ts';
import { parseFieldSelector, parseLabelSelector, type Matches } from './selectors.ts';
import { badRequest, expired, invalid, StatusError } from './status-error.ts';
import { keyOf, type Storage } from './storage.ts';

export interface Page {
  readonly items: readonly KubeObject[];
  readonly metadata: {
    readonly resourceVersion: string;
    readonly continue?: string;
    readonly remainingItemCount?: number;
  };
}

/** `resourceVersion` of a read as a number; 0 for "any". @throws StatusError 400 */
export function parseRevision(text: string | null): number | undefined {
  if (text === null || text === '') return undefined;
  if (!/^\d{1,15}$/.test(text)) {
    throw invalid({ group: 'meta.k8s.io', kind: 'ListOptions' }, '', [
      {
        reason: 'FieldValueInvalid',
        field: 'resourceVersion',
        value: text,
        detail: 'strconv.ParseUint: invalid syntax',
      },
    ]);
  }
  return Number(text);
}

/** Both selectors of a request. @throws StatusError 400 */
export function selectorsOf(kind: Kind, query: URLSearchParams): Matches {
  const labels = parseLabelSelector(query.get('labelSelector') ?? undefined);
  const fields = parseFieldSelector(resourceOf(kind), query.get('fieldSelector') ?? undefined);
  return (object) => labels(object) && fields(object);
}

/** The object as this version of its kind shows it, with the defaults that its schema has now. */
export function shownAs(kind: Kind, object: KubeObject): KubeObject {
  const apiVersion = groupVersion(kind);
  return shaped(kind, object.apiVersion === apiVersion ? object : { ...object, apiVersion });
}

function tooLarge(revision: number, current: number): StatusError {
  const message = `Too large resource version: ${revision}, current: ${current}`;
  return new StatusError(504, 'Timeout', message, {
    causes: [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }],
    retryAfterSeconds: 1,
  });
}

/** One page of a list. All pages of one listing are as of the first page's revision. @throws StatusError 400, 410, 504 */
export function listPage(storage: Storage, kind: Kind, namespace: string | undefined, query: URLSearchParams): Page {
  const matches = selectorsOf(kind, query);
  const token = query.get('continue') ?? '';
  const wanted = parseRevision(query.get('resourceVersion'));
  const match = query.get('resourceVersionMatch');
  if (token !== '' && wanted !== undefined && wanted !== 0) {
    throw badRequest('specifying resource version is not allowed when using continue');
  }
  if (match === 'Exact' && (wanted === undefined || wanted === 0)) {
    throw badRequest('resourceVersionMatch "Exact" is forbidden for resourceVersion "0"');
  }
  if (wanted !== undefined && wanted > storage.revision) throw tooLarge(wanted, storage.revision);
  const start = token === '' ? undefined : decodeContinue(token);
  const revision = start?.revision ?? (match === 'Exact' && wanted !== undefined ? wanted : storage.revision);
  const objects = storage.listAt(resourceOf(kind), namespace, revision);
  if (objects === undefined) {
    throw expired(
      start === undefined
        ? `The resourceVersion for the provided list is too old.`
        : 'The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter.',
    );
  }
  const limit = Number(query.get('limit') ?? 0);
  if (!Number.isInteger(limit) || limit < 0)
    throw badRequest(`strconv.ParseInt: parsing "${String(query.get('limit'))}": invalid syntax`);
  const keyed = (object: KubeObject): string => keyOf(object.metadata.namespace, object.metadata.name);
  const found = objects.filter((object) => (start === undefined || keyed(object) > start.key) && matches(object));
  const items = limit === 0 ? found : found.slice(0, limit);
  const last = items.at(-1);
  const remaining = found.length - items.length;
  const selective = [query.get('labelSelector'), query.get('fieldSelector')].some(
    (text) => text !== null && text !== '',
  );
  return {
    items: items.map((object) => shownAs(kind, object)),
    metadata: {
      resourceVersion: String(revision),
      ...(remaining === 0 || last === undefined ? {} : { continue: encodeContinue({ revision, key: keyed(last) }) }),
      ...(remaining === 0 || selective ? {} : { remainingItemCount: remaining }),
    },
  };
}
