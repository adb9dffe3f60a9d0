import type { IncomingHttpHeaders } from 'node:http';
import type { FastifyRequest } from 'fastify';
import { AppError } from '../../../protocol/app-error.ts';
import type { Clock } from '../../../runtime/clock.ts';
import { findAdmin, type AdminIdentity } from '../../store/admin-tokens.ts';
import type { Store } from '../../store/open-store.ts';
import { bearerToken } from '../agent/authenticate.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Set by authentication; read it through `adminOf`. */
    admin: AdminIdentity | null;
  }
}

/** Who calls, in which organization. */
export function adminOf(request: Pick<FastifyRequest, 'admin'>): AdminIdentity {
  if (request.admin === null) throw new Error('this route is not behind authentication');
  return request.admin;
}

/** @throws AppError `missing_token`, `invalid_token`, `expired_token` */
export async function authenticateAdmin(
  deps: { readonly store: Pick<Store, 'db'>; readonly clock: Clock },
  { authorization }: Pick<IncomingHttpHeaders, 'authorization'>,
): Promise<AdminIdentity> {
  const found = await findAdmin(deps.store.db, bearerToken(authorization).expose(), deps.clock.now());
  switch (found.state) {
    case 'valid':
      return found.identity;
    case 'expired':
      throw new AppError('expired_token', 'this admin token has expired');
    case 'unknown':
      throw new AppError('invalid_token', 'this is not an admin token of this control plane');
  }
}
