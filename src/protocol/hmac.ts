import { createHash, createHmac, hkdfSync, timingSafeEqual } from 'node:crypto';
import type { Secret } from '../runtime/secret.ts';
import { AppError } from './app-error.ts';
import { canonicalJson } from './canonical-json.ts';

/** How far a request's time may be from the server's, in seconds. */
export const MAX_CLOCK_SKEW_SECONDS = 300;

/** What a MAC binds. `path` is the request target as sent, with its query; an absent body is `undefined`. */
export interface SignedRequest {
  readonly key: Uint8Array;
  readonly method: string;
  readonly path: string;
  readonly body: unknown;
}

/**
 * HKDF-SHA-256 of the bearer token, bound to the cluster: the server derives it from the presented token, so it stores
 * nothing but the token's hash, and the key rotates with the token (decisions, "HMAC on writes").
 */
export function deriveHmacKey(token: Secret, clusterId: string): Uint8Array {
  return new Uint8Array(hkdfSync('sha256', Buffer.from(token.expose(), 'utf8'), 'service-agent-hmac', clusterId, 32));
}

/** Value of the `Service-Signature` header: `v1,t=<unix seconds>,mac=<base64url HMAC-SHA-256>`. */
export function signRequest(request: SignedRequest & { readonly at: Date }): string {
  const seconds = unixSeconds(request.at);
  return `v1,t=${seconds},mac=${mac(request, String(seconds)).toString('base64url')}`;
}

/**
 * Verifies a `Service-Signature` header.
 *
 * @throws AppError `invalid_signature` (missing, malformed, or made over something else) or `clock_skew` (more than
 *   300 s from `now`; `extra.serverTime` is the server's RFC 3339 time, so that the client can say how far it is off)
 */
export function verifyRequestSignature(
  request: SignedRequest & { readonly header: string | undefined; readonly now: Date },
): void {
  const match = /^v1,t=(0|[1-9][0-9]{0,14}),mac=([A-Za-z0-9_-]{43})$/.exec(request.header ?? '');
  const [, seconds, given] = match ?? [];
  if (seconds === undefined || given === undefined) {
    throw new AppError(
      'invalid_signature',
      request.header === undefined
        ? 'the Service-Signature header is missing; this request needs one'
        : 'the Service-Signature header is malformed; its form is v1,t=<unix seconds>,mac=<base64url HMAC-SHA-256>',
    );
  }
  const skew = Number(seconds) - unixSeconds(request.now);
  if (Math.abs(skew) > MAX_CLOCK_SKEW_SECONDS) {
    throw new AppError(
      'clock_skew',
      `the request was signed ${Math.abs(skew)} s ${skew > 0 ? 'ahead of' : 'behind'} the server's time; at most ${MAX_CLOCK_SKEW_SECONDS} s are allowed, set the clock`,
      { extra: { serverTime: request.now.toISOString() } },
    );
  }
  const expected = mac(request, seconds);
  const actual = Buffer.from(given, 'base64url');
  // Re-encoding refuses the other spellings of the last base64url character, so that each MAC has one text.
  if (actual.toString('base64url') !== given || !timingSafeEqual(expected, actual)) {
    throw new AppError(
      'invalid_signature',
      'the MAC in Service-Signature does not match this method, path, time and body under the key of the presented token',
    );
  }
}

function mac(request: SignedRequest, seconds: string): Buffer {
  const body = request.body === undefined ? '' : canonicalJson(request.body);
  const bodyHash = createHash('sha256').update(body, 'utf8').digest('hex');
  const message = `v1\n${request.method.toUpperCase()}\n${request.path}\n${seconds}\n${bodyHash}`;
  return createHmac('sha256', request.key).update(message, 'utf8').digest();
}

function unixSeconds(at: Date): number {
  return Math.floor(at.getTime() / 1000);
}
