import { errors, jwtVerify, type JWTPayload } from 'jose';
import { AppError } from '../../protocol/app-error.ts';
import type { OidcIssuer } from './oidc-issuer.ts';

/** Signatures by keys that only the issuer has: with `none` or an HMAC whoever knows the public key could make tokens. */
const ALGORITHMS = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
  'Ed25519',
];
/** `typ` of ID tokens and access tokens (RFC 9068); others, as of a logout, are for something else. */
const TYPES: ReadonlySet<string> = new Set(['jwt', 'at+jwt', 'application/at+jwt']);
const CLOCK_TOLERANCE_SECONDS = 60;
/** OpenID Connect Core 1.0, section 2: ASCII, at most 255. */
const SUBJECT = /^[\x21-\x7e]{1,255}$/;
/** ASCII, as members' addresses are: lower-casing takes some other letters for them (the Kelvin sign, U+212A, for k). */
const EMAIL = /^[!-?A-~]+@[!-?A-~]+$/;

/** What a token of the issuer says of who presents it. */
export interface OidcClaims {
  readonly issuer: string;
  readonly subject: string;
  /** In lower case, and only where the issuer says that it is the subject's. */
  readonly email?: string;
  /** The same as the token says it. */
  readonly emailAsSent?: string;
  /** What it says without vouching for it. */
  readonly unverifiedEmail?: string;
  /** RFC 3339. */
  readonly expiresAt: string;
}

export interface VerifyDeps {
  readonly issuer: string;
  readonly audience: string;
  readonly keys: Pick<OidcIssuer, 'key'>;
  readonly now: Date;
}

/** @throws AppError `invalid_token`, `expired_token`, `unavailable` (no keys to look at it with) */
export async function verifyOidcToken(token: string, deps: VerifyDeps): Promise<OidcClaims> {
  try {
    const { payload, protectedHeader } = await jwtVerify(
      token,
      async (header, input) => await deps.keys.key(header, input),
      {
        issuer: deps.issuer,
        audience: deps.audience,
        algorithms: ALGORITHMS,
        clockTolerance: CLOCK_TOLERANCE_SECONDS,
        currentDate: deps.now,
        requiredClaims: ['sub', 'exp'],
      },
    );
    if (protectedHeader.typ !== undefined && !TYPES.has(protectedHeader.typ.toLowerCase())) {
      throw invalid(`it is a ${JSON.stringify(protectedHeader.typ.slice(0, 40))}, not an ID token or access token`);
    }
    return claimsOf(payload, deps.issuer);
  } catch (error) {
    if (error instanceof AppError) throw error;
    if (error instanceof errors.JWTExpired) {
      throw new AppError('expired_token', 'this token of the identity provider has expired; sign in again', {
        cause: error,
      });
    }
    throw invalid(reasonOf(error, deps), error);
  }
}

function claimsOf(payload: JWTPayload, issuer: string): OidcClaims {
  const { sub: subject = '', exp = 0, email, email_verified: isVerified } = payload;
  if (!SUBJECT.test(subject)) throw invalid('its subject is empty, too long or not ASCII');
  const sent = typeof email === 'string' && email.length <= 254 && EMAIL.test(email) ? email : '';
  const address = sent.toLowerCase();
  return {
    issuer,
    subject,
    ...(address === ''
      ? {}
      : isVerified === true
        ? { email: address, emailAsSent: sent }
        : { unverifiedEmail: address }),
    expiresAt: new Date(exp * 1000).toISOString(),
  };
}

function invalid(why: string, cause?: unknown): AppError {
  return new AppError('invalid_token', `this token of an identity provider is not good here: ${why}`, { cause });
}

function reasonOf(error: unknown, { issuer, audience }: VerifyDeps): string {
  if (error instanceof errors.JWTClaimValidationFailed) {
    if (error.claim === 'iss') return `it is not of the issuer ${issuer}`;
    if (error.claim === 'aud') return `it is not for the audience ${audience}; sign in for that client`;
    if (error.claim === 'nbf') return 'it does not count yet; see that the clocks are right';
    return `its claim ${error.claim} is missing or wrong`;
  }
  if (error instanceof errors.JOSEAlgNotAllowed) return `its algorithm is none of ${ALGORITHMS.join(', ')}`;
  if (error instanceof errors.JWKSNoMatchingKey) return 'the issuer publishes no such key';
  if (error instanceof errors.JWKSMultipleMatchingKeys) return 'it does not say by which of the keys it is signed';
  if (error instanceof errors.JWSSignatureVerificationFailed) return 'its signature is wrong';
  return 'it cannot be read';
}
