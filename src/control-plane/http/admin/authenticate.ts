import type { IncomingHttpHeaders } from 'node:http';
import type { FastifyRequest } from 'fastify';
import { AppError } from '../../../protocol/app-error.ts';
import type { Clock } from '../../../runtime/clock.ts';
import { Secret } from '../../../runtime/secret.ts';
import type { OidcSignIn } from '../../oidc/oidc-sign-in.ts';
import { findAdmin, type SignedIn } from '../../store/admin-tokens.ts';
import type { LastUse } from '../../store/last-use.ts';
import type { Store } from '../../store/open-store.ts';

/** Which organization somebody means who is a member of several. */
export const ORGANIZATION_HEADER = 'service-organization';

/** Longer than any token of ours. What is longer is an identity provider's or nobody's. */
const LONGEST_OWN = 512;

declare module 'fastify' {
  interface FastifyRequest {
    /** Set by authentication; read it through `adminOf`. */
    admin: SignedIn | null;
  }
}

/** Who calls, in which organization. */
export function adminOf(request: Pick<FastifyRequest, 'admin'>): SignedIn {
  if (request.admin === null) throw new Error('this route is not behind authentication');
  return request.admin;
}

export interface AuthenticateAdminDeps {
  readonly store: Pick<Store, 'db'>;
  readonly clock: Clock;
  /** Absent: nobody comes in by an identity provider. */
  readonly oidc: Pick<OidcSignIn, 'identify'> | undefined;
  /** Absent: it is no use of the token, only a look whether it is still good. */
  readonly lastUse?: Pick<LastUse, 'note'>;
}

/**
 * Called again by what is held open, so that a token that was taken back ends it.
 *
 * @throws AppError `missing_token`, `invalid_token`, `expired_token`, `forbidden` (no member, a disabled one, another
 *   organization), `unavailable` (the identity provider was never reached)
 */
export async function authenticateAdmin(
  deps: AuthenticateAdminDeps,
  headers: Pick<IncomingHttpHeaders, 'authorization'> & {
    readonly [ORGANIZATION_HEADER]?: string | string[] | undefined;
  },
): Promise<SignedIn> {
  const token = bearerOf(headers.authorization);
  const wanted = headers[ORGANIZATION_HEADER];
  const organization = Array.isArray(wanted) ? wanted.join(', ') : wanted;
  const { identity, tokenHash, lastUsedAt: last } = await cameInWith(deps, token, organization);
  const use = { organizationId: identity.organization.id, tokenHash, member: identity.member, last };
  await deps.lastUse?.note(use);
  return identity;
}

interface CameIn {
  readonly identity: SignedIn;
  readonly tokenHash?: string;
  readonly lastUsedAt: string | null;
}

async function cameInWith(
  deps: AuthenticateAdminDeps,
  token: Secret,
  organization: string | undefined,
): Promise<CameIn> {
  const own = token.expose().length <= LONGEST_OWN ? await byToken(deps, token) : undefined;
  if (own !== undefined) {
    const { name } = own.identity.organization;
    if (organization === undefined || organization === name) return own;
    throw new AppError(
      'forbidden',
      `this token is of the organization ${name}, and Service-Organization names another`,
    );
  }
  if (deps.oidc !== undefined && isJwt(token.expose())) return await deps.oidc.identify(token, organization);
  throw new AppError('invalid_token', 'this is not an admin token of this control plane');
}

/** `undefined`: it is none of ours. */
async function byToken({ store, clock }: AuthenticateAdminDeps, token: Secret): Promise<CameIn | undefined> {
  const found = await findAdmin(store.db, token.expose(), clock.now());
  switch (found.state) {
    case 'valid':
      return found;
    case 'expired':
      throw new AppError('expired_token', 'this admin token has expired');
    case 'disabled':
      throw new AppError('forbidden', `member ${found.member} is disabled; ask an admin to enable it again`);
    case 'unknown':
      return undefined;
  }
}

/** A token of an identity provider is longer than ours. @throws AppError `missing_token` or `invalid_token` */
function bearerOf(authorization: string | undefined): Secret {
  if (authorization === undefined) {
    throw new AppError('missing_token', 'the Authorization header is missing; this request needs Bearer <token>');
  }
  const [, token] = /^Bearer +([\x21-\x7e]{1,12288})$/i.exec(authorization.trim()) ?? [];
  if (token === undefined) {
    throw new AppError('invalid_token', 'the Authorization header is malformed; its form is Bearer <token>');
  }
  return new Secret(token);
}

/** Three parts (RFC 7515, section 7.1). */
function isJwt(text: string): boolean {
  return /^[\w-]+\.[\w-]+\.[\w-]*$/.test(text);
}
