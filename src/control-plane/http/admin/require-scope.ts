import type { FastifyRequest } from 'fastify';
import { AppError } from '../../../protocol/app-error.ts';
import type { Logger } from '../../../runtime/logger.ts';
import { ACCESS_ROLES, type AccessRole, type Scope } from '../../access.ts';
import type { RefusalAudit } from '../../refusal-audit.ts';
import type { AdminIdentity } from '../../store/admin-tokens.ts';
import type { HttpServer } from '../server.ts';
import { adminOf } from './authenticate.ts';
import { scopeOfRoute } from './route-scopes.ts';

/**
 * Lets a call through to a route of this scope where its caller has what the route needs, before anything of it is read.
 * Added behind authentication.
 *
 * @throws Error at the start, for a route without a row in `ROUTE_SCOPES`
 */
export function requireScope(app: HttpServer, deps: { readonly refusals: Pick<RefusalAudit, 'record'> }): void {
  const pathOf = (url: string): string => url.slice(app.prefix.length);
  app.addHook('onRoute', ({ method, url }) => {
    for (const verb of [method].flat()) {
      if (scopeOfRoute(verb, pathOf(url)) !== undefined) continue;
      throw new Error(`${verb} ${url} has no row in http/admin/route-scopes.ts: it must say which scope it needs`);
    }
  });
  app.addHook('onRequest', async (request) => {
    const { url = '' } = request.routeOptions;
    const needed = scopeOfRoute(request.method, pathOf(url));
    const admin = adminOf(request);
    if (needed === 'any' || (needed !== undefined && admin.scopes.has(needed))) return;
    const text = `without the scope ${needed ?? 'read'}`;
    await auditAccessRefusal(deps.refusals, request, admin, text);
    throw new AppError('forbidden', refusalText(admin, needed ?? 'read'));
  });
}

/** What is missing, what there is, and who can give it. */
function refusalText({ name, scopes, organization }: AdminIdentity, needed: Scope): string {
  const has = scopes.size === 0 ? 'no scope' : `only ${[...scopes].join(', ')}`;
  const roles = (Object.keys(ACCESS_ROLES) as AccessRole[]).filter((role) => scopeIsIn(needed, role));
  return `this needs the scope ${needed}, and ${name} has ${has}; ask an admin of the organization ${organization.name} for the access ${roles.join(' or ')}, or use a token with that scope`;
}

function scopeIsIn(scope: Scope, role: AccessRole): boolean {
  const scopes: readonly Scope[] = ACCESS_ROLES[role];
  return scopes.includes(scope);
}

/** Of a caller who is known. The refusal stands whether it could be written down or not. */
export async function auditAccessRefusal(
  refusals: Pick<RefusalAudit, 'record'>,
  request: FastifyRequest,
  { name: actor, organization }: Pick<AdminIdentity, 'name' | 'organization'>,
  how: string,
): Promise<void> {
  try {
    await refusals.record(
      { organization_id: organization.id },
      {
        kind: 'AccessRefused',
        summary: `${actor} called ${request.method} ${request.routeOptions.url ?? ''} ${how}`,
        reason: 'forbidden',
        source: 'user',
        actor,
      },
    );
  } catch (error) {
    (request.log as Logger).warn({ err: error, requestId: request.id }, 'a refusal could not be audited');
  }
}
