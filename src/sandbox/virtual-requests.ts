import type { Clock } from '../runtime/clock.ts';
import { issueAccountToken } from './account-token.ts';
import type { Attributes, Authentication, User } from './authentication.ts';
import { isJsonObject, listAt, objectAt, stringAt, type JsonObject } from './json-value.ts';
import { rfc3339 } from './rfc3339.ts';
import { serviceAccountKind } from './built-in-kinds.ts';
import { invalid, methodNotAllowed, notFound } from './status-error.ts';
import type { Storage } from './storage.ts';

const ACCESS_REVIEWS = '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews';
const TOKENS = /^\/api\/v1\/namespaces\/([^/]+)\/serviceaccounts\/([^/]+)\/token$/;
const ISSUER = 'https://kubernetes.default.svc';
const DEFAULT_SECONDS = 3600;
const LEAST_SECONDS = 600;

interface VirtualDeps {
  readonly storage: Storage;
  readonly authentication: Authentication;
  readonly clock: Clock;
}

/** What a request for a token is about, for the check of rights; `undefined` for any other path. */
export function tokenAttributes(path: string, method: string): Attributes | undefined {
  const [, namespace, name] = TOKENS.exec(path) ?? [];
  if (namespace === undefined || name === undefined) return undefined;
  const verb = method === 'POST' ? 'create' : 'get';
  return { verb, group: '', resource: 'serviceaccounts', subresource: 'token', namespace, name, path: undefined };
}

export function isVirtual(path: string): boolean {
  return path === ACCESS_REVIEWS || TOKENS.test(path);
}

/** Objects that are answered and never stored: access reviews and tokens. @throws StatusError 404, 405, 422 */
export function answerVirtual(
  deps: VirtualDeps,
  request: { readonly method: string; readonly path: string; readonly body: unknown; readonly user: User },
): JsonObject {
  if (request.method !== 'POST') throw methodNotAllowed();
  const body = isJsonObject(request.body) ? request.body : {};
  return request.path === ACCESS_REVIEWS ? reviewAccess(body, request.user) : issueToken(deps, request.path, body);
}

function reviewAccess(body: JsonObject, user: User): JsonObject {
  const spec = objectAt(body, 'spec');
  const [resource, path] = [spec['resourceAttributes'], spec['nonResourceAttributes']];
  if (isJsonObject(resource) === isJsonObject(path)) {
    const detail = 'exactly one of nonResourceAttributes or resourceAttributes must be specified';
    const fault = { reason: 'FieldValueInvalid', field: 'spec.resourceAttributes', detail } as const;
    throw invalid({ group: 'authorization.k8s.io', kind: '' }, '', [fault]);
  }
  const text = (field: string): string => stringAt(resource ?? path, field) ?? '';
  const allowed = user.may({
    verb: text('verb'),
    group: text('group'),
    resource: text('resource'),
    subresource: text('subresource'),
    namespace: text('namespace'),
    name: text('name'),
    path: isJsonObject(path) ? text('path') : undefined,
  });
  const apiVersion = 'authorization.k8s.io/v1';
  return { kind: 'SelfSubjectAccessReview', apiVersion, metadata: {}, spec, status: { allowed } };
}

/** The token ends by the sandbox's clock and with its account. */
function issueToken({ storage, authentication, clock }: VirtualDeps, path: string, body: JsonObject): JsonObject {
  const [, namespace = '', name = ''] = TOKENS.exec(path) ?? [];
  const account = storage.get('serviceaccounts', namespace, name);
  if (account === undefined) throw notFound(serviceAccountKind, name);
  const spec = objectAt(body, 'spec');
  const expirationSeconds = Number(spec['expirationSeconds'] ?? DEFAULT_SECONDS);
  if (expirationSeconds < LEAST_SECONDS) {
    const detail = 'may not specify a duration less than 10 minutes';
    throw invalid({ group: 'authentication.k8s.io', kind: 'TokenRequest' }, '', [
      { reason: 'FieldValueInvalid', field: 'spec.expirationSeconds', value: expirationSeconds, detail },
    ]);
  }
  const given = listAt(spec, 'audiences');
  const audiences = given.length === 0 ? [ISSUER] : given;
  const issued = Math.floor(clock.now().getTime() / 1000);
  const expires = new Date((issued + expirationSeconds) * 1000);
  const { uid = '' } = account.metadata;
  const times = { exp: issued + expirationSeconds, iat: issued, nbf: issued };
  const claims = {
    aud: audiences,
    ...times,
    iss: ISSUER,
    'kubernetes.io': { namespace, serviceaccount: { name, uid } },
  };
  const token = issueAccountToken(
    { storage, authentication },
    { namespace, name, uid },
    claims,
    () => clock.now() < expires,
  );
  return {
    kind: 'TokenRequest',
    apiVersion: 'authentication.k8s.io/v1',
    metadata: {},
    spec: { audiences, expirationSeconds, boundObjectRef: spec['boundObjectRef'] ?? null },
    status: { token, expirationTimestamp: rfc3339(expires) },
  };
}
