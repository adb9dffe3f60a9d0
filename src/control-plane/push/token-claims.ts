import type { Secret } from '../../runtime/secret.ts';

/** What a service account's token says of itself. Nothing here is verified: the API server does that. */
export interface TokenClaims {
  readonly subject?: string;
  readonly account?: { readonly namespace: string; readonly name: string };
  readonly audiences?: readonly string[];
  readonly issuedAt?: string;
  /** Absent: it does not end, or it is not a JWT. */
  readonly expiresAt?: string;
}

const ACCOUNT = /^system:serviceaccount:([a-z0-9-]{1,63}):([a-z0-9.-]{1,253})$/;
const MAX_NAME = 256;

/** Claims of a JWT (RFC 7519); none of a token that is something else. */
export function readTokenClaims(token: Secret): TokenClaims {
  const claims = claimsOf(token.expose());
  if (claims === undefined) return {};
  const { sub, aud, iat, exp } = claims;
  const subject = typeof sub === 'string' ? sub.replaceAll(/[^\x20-\x7e]/g, '').slice(0, MAX_NAME) : undefined;
  const [, namespace, name] = ACCOUNT.exec(subject ?? '') ?? [];
  const issuedAt = timeOf(iat);
  const expiresAt = timeOf(exp);
  return {
    ...(subject === undefined || subject === '' ? {} : { subject }),
    ...(namespace === undefined || name === undefined ? {} : { account: { namespace, name } }),
    ...(Array.isArray(aud) && aud.every((each) => typeof each === 'string') ? { audiences: aud } : {}),
    ...(issuedAt === undefined ? {} : { issuedAt }),
    ...(expiresAt === undefined ? {} : { expiresAt }),
  };
}

function claimsOf(token: string): Record<string, unknown> | undefined {
  const parts = token.split('.');
  if (parts.length !== 3) return undefined;
  try {
    const claims: unknown = JSON.parse(Buffer.from(parts[1] ?? '', 'base64url').toString('utf8'));
    return typeof claims === 'object' && claims !== null ? (claims as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

/** Of the year 9999: later ones have more digits, and are compared as text with others. */
const LAST_SECOND = Date.parse('9999-12-31T23:59:59Z') / 1000;

/** NumericDate: seconds since 1970. Who writes a later one means that it does not end. */
function timeOf(value: unknown): string | undefined {
  if (typeof value !== 'number' || !(value > 0) || value > LAST_SECOND) return undefined;
  return new Date(value * 1000).toISOString();
}
