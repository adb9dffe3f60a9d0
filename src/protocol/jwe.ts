import { createPublicKey, diffieHellman, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { CompactEncrypt, compactDecrypt, decodeProtectedHeader, importJWK, type CryptoKey, type JWK } from 'jose';
import { Secret } from '../runtime/secret.ts';
import { AppError } from './app-error.ts';
import type { PublicJwk } from './register.ts';
import { okpThumbprint } from './signing-key.ts';

const ALG = 'ECDH-ES';
const ENC = 'A256GCM';
const CRV = 'X25519';

/** Members that only a private or symmetric JWK has (RFC 7518, section 6; `priv` from the post-quantum drafts). */
const PRIVATE_MEMBERS = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k', 'priv'] as const;

/** `privateJwk` exposes the private JWK as JSON text, as it stands in the keypair Secret. */
export interface EncryptionKeypair {
  readonly publicJwk: PublicJwk;
  readonly privateJwk: Secret;
}

/** Why a JWE could not be opened. Its message never holds key material or plaintext. */
export class JweError extends Error {
  readonly code: 'malformed' | 'unknown_key' | 'wrong_audience' | 'decryption_failed';

  constructor(code: JweError['code'], message: string, options: { readonly cause?: unknown } = {}) {
    super(message, options.cause === undefined ? {} : { cause: options.cause });
    this.name = 'JweError';
    this.code = code;
  }
}

/** A new X25519 key for ECDH-ES; its `kid` is the RFC 7638 thumbprint. */
export async function generateEncryptionKeypair(): Promise<EncryptionKeypair> {
  const { privateKey } = generateKeyPairSync('x25519');
  const { x, d } = privateKey.export({ format: 'jwk' });
  if (x === undefined || d === undefined) throw new Error('an X25519 key has no x or d');
  const publicMembers = { kty: 'OKP', crv: CRV, x };
  const described = { kid: okpThumbprint(CRV, x), use: 'enc', alg: ALG };
  return {
    publicJwk: { ...publicMembers, ...described },
    privateJwk: new Secret(JSON.stringify({ ...publicMembers, d, ...described })),
  };
}

/**
 * Accepts an uploaded key only when it is an X25519 public key and nothing more.
 *
 * @throws AppError `constraint_violated`, also when somebody uploads the private half: then it counts as leaked
 */
export function assertPublicKey(jwk: unknown): asserts jwk is PublicJwk {
  if (typeof jwk !== 'object' || jwk === null || Array.isArray(jwk)) refuseKey('', 'must be a JWK object');
  const members: Readonly<Record<string, unknown>> = { ...jwk };
  const leaked = PRIVATE_MEMBERS.find((member) => Object.hasOwn(members, member));
  if (leaked !== undefined) {
    refuseKey(
      `/${leaked}`,
      'is a private member; upload the public key only and replace this key, it was sent in clear',
    );
  }
  if (members['kty'] !== 'OKP') refuseKey('/kty', 'must be OKP', ['OKP']);
  if (members['crv'] !== CRV) refuseKey('/crv', `must be ${CRV}`, [CRV]);
  const { x, alg = ALG, use = 'enc' } = members;
  const raw = typeof x === 'string' ? Buffer.from(x, 'base64url') : Buffer.alloc(0);
  if (typeof x !== 'string' || raw.length !== 32 || raw.toString('base64url') !== x) {
    refuseKey('/x', 'must be 32 bytes in base64url');
  }
  if (!agrees(x)) {
    refuseKey('/x', 'is a point of low order: no secret can be agreed upon with it; generate the key with a library');
  }
  if (alg !== ALG) refuseKey('/alg', `must be ${ALG} or absent`, [ALG]);
  if (use !== 'enc') refuseKey('/use', 'must be enc or absent', ['enc']);
}

/** Agrees with every key that is tried; its secrets are for nothing else. */
let trial: KeyObject | undefined;

/**
 * Whether a secret can be agreed upon with a public X25519 key. With a point of low order each private key gives zeros,
 * which RFC 7748 (section 6.1) and every library refuse; tried, since there are several encodings of each.
 */
function agrees(x: string): boolean {
  trial ??= generateKeyPairSync('x25519').privateKey;
  try {
    const publicKey = createPublicKey({ key: { kty: 'OKP', crv: CRV, x }, format: 'jwk' });
    return diffieHellman({ privateKey: trial, publicKey }).some((byte) => byte !== 0);
  } catch {
    return false;
  }
}

/**
 * Compact JWE (ECDH-ES on X25519, A256GCM) to a public key. The protected header carries the key's `kid` and
 * `protectedExtra` (such as `aud`), neither of which can replace `alg` or `enc`.
 */
export async function encryptTo(
  publicJwk: PublicJwk,
  plaintext: Secret | string,
  protectedExtra: Readonly<Record<string, unknown>> = {},
): Promise<string> {
  assertPublicKey(publicJwk);
  const { x = '', kid = okpThumbprint(CRV, x) } = publicJwk;
  const key = await importJWK({ kty: 'OKP', crv: CRV, x }, ALG);
  const text = typeof plaintext === 'string' ? plaintext : plaintext.expose();
  return await new CompactEncrypt(Buffer.from(text, 'utf8'))
    .setProtectedHeader({ ...protectedExtra, kid, alg: ALG, enc: ENC })
    .encrypt(key);
}

/**
 * Opens a compact JWE with a private key or a ring of them (the newest first; retired keys only decrypt). A `kid` that
 * is in the ring decides; without one each key is tried.
 *
 * @param options.audience when given, the protected header's `aud` must equal it; checked before decryption
 * @throws JweError
 */
export async function decryptWith(
  ring: Secret | readonly Secret[],
  compact: string,
  options: { readonly audience?: string } = {},
): Promise<Secret> {
  const header = readHeader(compact);
  if (options.audience !== undefined && header['aud'] !== options.audience) {
    throw new JweError('wrong_audience', `sealed for another place than ${options.audience}`);
  }
  const keys = (ring instanceof Secret ? [ring] : ring).map(readPrivateJwk);
  const kid = header['kid'];
  const fitting = kid === undefined ? keys : keys.filter((key) => key.kid === kid);
  if (fitting.length === 0) {
    throw new JweError('unknown_key', `encrypted to key ${String(kid).slice(0, 64)}, which is not in this keyring`);
  }
  let failure: unknown;
  for (const jwk of fitting) {
    try {
      const key: CryptoKey | Uint8Array = await importJWK(jwk, ALG);
      const { plaintext } = await compactDecrypt(compact, key, {
        keyManagementAlgorithms: [ALG],
        contentEncryptionAlgorithms: [ENC],
      });
      return new Secret(new TextDecoder('utf-8', { fatal: true }).decode(plaintext));
    } catch (error) {
      failure = error;
    }
  }
  throw new JweError('decryption_failed', 'the JWE does not open: altered, or made for another key', {
    cause: failure,
  });
}

/**
 * What is wrong with a JWE that is to be for this key and place, as far as its header tells without the private key.
 * Undefined: nothing.
 */
export function readSealedFor(
  compact: string,
  expected: { readonly audience: string; readonly kid?: string },
): string | undefined {
  let header: Readonly<Record<string, unknown>>;
  try {
    header = readHeader(compact);
  } catch (error) {
    if (error instanceof JweError) return error.message;
    throw error;
  }
  if (compact.split('.').length !== 5) return 'not a compact JWE';
  if (header['aud'] !== expected.audience)
    return `must be sealed for ${expected.audience}, which its header's aud says`;
  if (expected.kid === undefined || header['kid'] === expected.kid) return undefined;
  return `must be sealed to the present key, ${expected.kid}, which its header's kid says`;
}

function readHeader(compact: string): Readonly<Record<string, unknown>> {
  let header: Readonly<Record<string, unknown>>;
  try {
    header = { ...decodeProtectedHeader(compact) };
  } catch (error) {
    throw new JweError('malformed', 'not a compact JWE', { cause: error });
  }
  if (header['alg'] !== ALG || header['enc'] !== ENC) {
    throw new JweError('malformed', `the JWE must use ${ALG} and ${ENC}`);
  }
  // Compression leaks plaintext through lengths and lets a small text expand; nothing of ours sends either member.
  if ('zip' in header || 'crit' in header)
    throw new JweError('malformed', 'zip and crit are not taken in a JWE header');
  return header;
}

function readPrivateJwk(secret: Secret): JWK & { readonly kty: 'OKP' } {
  let jwk: unknown;
  try {
    jwk = JSON.parse(secret.expose());
  } catch {
    // The parser's own message would quote the key.
    throw new JweError('unknown_key', 'a private key of the ring is not JWK JSON');
  }
  const { crv, x, d, kid } = (jwk ?? {}) as JWK;
  if (crv !== CRV || x === undefined || d === undefined) {
    throw new JweError('unknown_key', `a private key of the ring is not an ${CRV} JWK`);
  }
  return { kty: 'OKP', crv, x, d, kid: kid ?? okpThumbprint(CRV, x) };
}

function refuseKey(path: string, message: string, allowed?: unknown): never {
  const fault = { path: `/public_key${path}`, message };
  throw new AppError('constraint_violated', `public_key${path}: ${message}`, {
    faults: [allowed === undefined ? fault : { ...fault, allowed }],
  });
}
