import type { FastifySchema } from 'fastify';
import { AGENT_MEDIA_TYPE } from '../../../protocol/media-type.ts';
import { scopeOfRoute } from '../admin/route-scopes.ts';
import { AGENT_PREFIX } from '../answer-error.ts';
import { errorCodesOf, errorResponses, type Api } from './error-responses.ts';
import { namedResponses, type NamedResponses } from './responses.ts';

export const ADMIN_PREFIX = '/api/v1';
const JSON_TYPE = 'application/json';

/** A route's own schema with what holds for its API: media types, credentials and the scope; without its answers. */
export function describeOperation(
  method: string | readonly string[],
  url: string,
  { response: _response, ...schema }: FastifySchema = {},
): FastifySchema {
  if (schema.hide === true) return schema;
  const api = apiOf(url);
  return {
    ...schema,
    consumes: schema.consumes ?? (api === 'agent' ? [AGENT_MEDIA_TYPE, JSON_TYPE] : [JSON_TYPE]),
    security: schema.security ?? securityOf(api, [method].flat()[0] ?? 'GET', url),
  };
}

/** What an operation answers with: what its route says, and the errors of its API. */
export function responsesOf(method: string, url: string, schema: FastifySchema = {}): NamedResponses {
  const api = apiOf(url);
  const mediaType = mediaTypeOf(api);
  const codes = errorCodesOf({ api, method, hasParameters: url.includes(':'), hasBody: schema.body !== undefined });
  return namedResponses(
    (schema.response ?? {}) as Record<string, unknown>,
    errorResponses(codes, mediaType),
    mediaType,
  );
}

function mediaTypeOf(api: Api): string {
  return api === 'agent' ? AGENT_MEDIA_TYPE : JSON_TYPE;
}

function apiOf(url: string): Api {
  if (url.startsWith(`${ADMIN_PREFIX}/`)) return 'admin';
  return url.startsWith(`${AGENT_PREFIX}/`) ? 'agent' : 'public';
}

/** Of the admin API with the scope that is needed; writes of agents are signed besides. */
function securityOf(api: Api, method: string, url: string): Readonly<Record<string, string[]>>[] {
  if (api === 'public') return [];
  if (api === 'agent') return [{ agentToken: [], ...(method === 'GET' ? {} : { agentSignature: [] }) }];
  const scope = scopeOfRoute(method, url.slice(ADMIN_PREFIX.length));
  const scopes = scope === undefined || scope === 'any' ? [] : [scope];
  return [{ adminToken: scopes }, { oidc: scopes }];
}

export const SECURITY_SCHEMES = {
  adminToken: {
    type: 'http',
    scheme: 'bearer',
    description: 'A token of the control plane (svcadm_…). What an operation lists is the scope that it needs.',
  },
  oidc: {
    type: 'http',
    scheme: 'bearer',
    bearerFormat: 'JWT',
    description: 'A token of the OpenID provider that the control plane is set up with, of somebody who is a member.',
  },
  registrationToken: { type: 'http', scheme: 'bearer', description: 'A one-time token of a cluster (svcreg_…).' },
  agentToken: { type: 'http', scheme: 'bearer', description: 'The credential of an operator (svcagt_…).' },
  agentSignature: {
    type: 'apiKey',
    in: 'header',
    name: 'Service-Signature',
    description: 'HMAC over method, path, time and body (docs/spec, "Signature").',
  },
} as const;
