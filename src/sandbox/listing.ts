import type { KubeObject } from '../resources/kube-object.ts';
import { decodeContinue, encodeContinue } from './continue-token.ts';
import { shaped } from './decode-object.ts';
import { groupVersion, resourceOf, type Kind } from './kind.ts';
import { parseFieldSelector, parseLabelSelector, type Matches } from './selectors.ts';
import { badRequest, expired, invalid, StatusError, type FieldFault } from './status-error.ts';
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
  const message = `Timeout: Too large resource version: ${revision}, current: ${current}`;
  return new StatusError(504, 'Timeout', message, {
    causes: [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }],
    retryAfterSeconds: 1,
  });
}

/** Of a continue token that goes on with what there is now, whatever came and went since the first page. */
const CURRENT = -1;
const TOKEN_EXPIRED =
  'The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter, or use the continue token in this response to retrieve the remainder of the results. Continuing with the provided token results in an inconsistent list - objects that were created, modified, or deleted between the time the first chunk was returned and now may show up in the list.';

const MATCHES: readonly string[] = ['Exact', 'NotOlderThan', ''];

/** KEP-1904's rules. @throws StatusError 422 */
function checkMatch(match: string | null, revision: string, token: string): void {
  if (match === null || match === '') return;
  const field = 'resourceVersionMatch';
  const forbidden = (detail: string): FieldFault => ({ reason: 'FieldValueForbidden', field, detail });
  const faults: FieldFault[] = [
    ...(revision === '' ? [forbidden('resourceVersionMatch is forbidden unless resourceVersion is provided')] : []),
    ...(token === '' ? [] : [forbidden('resourceVersionMatch is forbidden when continue is provided')]),
  ];
  if (!MATCHES.includes(match)) {
    const detail = `supported values: ${MATCHES.map((value) => JSON.stringify(value)).join(', ')}`;
    faults.push({ reason: 'FieldValueNotSupported', field, value: match, detail });
  }
  if (match === 'Exact' && revision === '0') {
    faults.push(forbidden('resourceVersionMatch "exact" is forbidden for resourceVersion "0"'));
  }
  if (faults.length > 0) throw invalid({ group: 'meta.k8s.io', kind: 'ListOptions' }, '', faults);
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
  checkMatch(match, query.get('resourceVersion') ?? '', token);
  if (wanted !== undefined && wanted > storage.revision) throw tooLarge(wanted, storage.revision);
  const start = token === '' ? undefined : decodeContinue(token);
  const onwards = start?.revision === CURRENT ? storage.revision : start?.revision;
  const revision = onwards ?? (match === 'Exact' && wanted !== undefined ? wanted : storage.revision);
  const objects = storage.listAt(resourceOf(kind), namespace, revision);
  if (objects === undefined) {
    throw expired(
      start === undefined ? `The resourceVersion for the provided list is too old.` : TOKEN_EXPIRED,
      start === undefined ? undefined : encodeContinue({ revision: CURRENT, key: start.key }),
    );
  }
  const limit = Number(query.get('limit') ?? 0);
  if (!Number.isInteger(limit) || limit < 0)
    throw badRequest(`strconv.ParseInt: parsing "${String(query.get('limit'))}": invalid syntax`);
  const keyed = (object: KubeObject): string => keyOf(object.metadata.namespace, object.metadata.name);
  const left = objects.filter((object) => start === undefined || keyed(object) > start.key);
  const found = left.filter(matches);
  const items = limit === 0 ? found : found.slice(0, limit);
  const last = items.at(-1);
  // A full page ends the looking: whether anything that follows is wanted, the next page finds out.
  const remaining =
    last === undefined || limit === 0 || items.length < limit ? 0 : left.length - left.indexOf(last) - 1;
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
