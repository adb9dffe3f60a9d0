import { createHash, createHmac, generateKeyPairSync, hkdfSync, randomBytes } from 'node:crypto';
import { crc32 } from 'node:zlib';
import canonicalize from 'canonicalize';

// Written from the documents, not from the implementation: a suite that shares its code would share its mistakes.

/** The key of a credential's MACs (decisions, "HMAC on writes"): HKDF-SHA-256 of the token, 32 bytes. */
function hmacKey(token: string, clusterId: string): Buffer {
  return Buffer.from(hkdfSync('sha256', token, 'service-agent-hmac', clusterId, 32));
}

export interface Signed {
  readonly token: string;
  readonly clusterId: string;
  readonly method: string;
  /** Request target with its query, as it is sent. */
  readonly target: string;
  /** The JSON value of the body; undefined: there is none. */
  readonly body: unknown;
  readonly atSeconds: number;
}

/** Value of `Service-Signature`. */
export function signatureOf({ token, clusterId, method, target, body, atSeconds }: Signed): string {
  const canonical = body === undefined ? '' : (canonicalize(body) ?? '');
  const digest = createHash('sha256').update(canonical, 'utf8').digest('hex');
  const message = ['v1', method, target, String(atSeconds), digest].join('\n');
  const mac = createHmac('sha256', hmacKey(token, clusterId)).update(message, 'utf8').digest('base64url');
  return `v1,t=${atSeconds},mac=${mac}`;
}

const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

/** A token with valid check digits that nobody has issued (decisions, "Names"). */
export function unknownToken(kind: 'svcreg' | 'svcagt'): string {
  const body = `${kind}_${randomBytes(32).toString('base64url')}`;
  return body + checkDigits(body);
}

/** Whether a token has the form and check digits of its kind. */
export function tokenIsWellFormed(kind: 'svcreg' | 'svcagt', token: string): boolean {
  if (!new RegExp(`^${kind}_[A-Za-z0-9_-]{43}[0-9A-Za-z]{6}$`).test(token)) return false;
  return checkDigits(token.slice(0, -6)) === token.slice(-6);
}

function checkDigits(body: string): string {
  let rest = BigInt(crc32(body));
  let digits = '';
  while (digits.length < 6) {
    digits = `${BASE62[Number(rest % 62n)]}${digits}`;
    rest /= 62n;
  }
  return digits;
}

export interface EncryptionKey {
  /** JWK to upload. */
  readonly publicKey: Readonly<Record<string, string>>;
  readonly privateKey: Readonly<Record<string, string>>;
}

/** An X25519 key for ECDH-ES. */
export function newEncryptionKey(): EncryptionKey {
  const { privateKey } = generateKeyPairSync('x25519');
  const { x = '', d = '' } = privateKey.export({ format: 'jwk' });
  const kid = createHash('sha256')
    .update(JSON.stringify({ crv: 'X25519', kty: 'OKP', x }))
    .digest('base64url');
  const publicKey = { kty: 'OKP', crv: 'X25519', x, kid, use: 'enc', alg: 'ECDH-ES' };
  return { publicKey, privateKey: { ...publicKey, d } };
}

/** A cluster id of the right form that no cluster has. */
export function unknownClusterId(): string {
  const alphabet = '0123456789abcdefghjkmnpqrstvwxyz';
  return `c-${[...randomBytes(16)].map((byte) => alphabet.charAt(byte % 32)).join('')}`;
}
