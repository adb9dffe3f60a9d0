import { errors, FlattenedSign, flattenedVerify, importJWK, type CryptoKey, type JWK } from 'jose';
import type { Secret } from '../runtime/secret.ts';
import { canonicalJson } from './canonical-json.ts';
import type { JobKind } from './job.ts';
import type { PublicJwk } from './register.ts';

const ALG = 'EdDSA';
const CRV = 'Ed25519';
/** Far above any header of ours; it bounds what is decoded before anything is verified. */
const MAX_JWS_LENGTH = 8192;
const DETACHED = /^([\w-]+)\.\.([\w-]+)$/;

/**
 * What a signature is for, in its protected header besides `alg`, `kid`, `b64` and `crit`: so that it is good for one job
 * or object on one cluster. `expiresAt` is absent where what is signed does not expire, as an object in Git.
 */
export interface PayloadContext {
  readonly kind: JobKind;
  readonly idempotencyKey: string;
  readonly expiresAt?: string;
  readonly cluster_id: string;
}

/** What the verifier knows of the signature's context; a member that is absent is not compared. */
export type ExpectedContext = Pick<PayloadContext, 'cluster_id'> & Partial<PayloadContext>;

export interface PayloadSigning {
  readonly payload: unknown;
  readonly key: { readonly kid: string; readonly privateJwk: Secret };
  readonly header: PayloadContext;
}

export interface PayloadVerification {
  readonly jws: string;
  readonly payload: unknown;
  /** The keys that are accepted, in any order. */
  readonly keys: readonly PublicJwk[];
  readonly expected: ExpectedContext;
}

/** Why a signature is not taken. The message says what is wrong with it, never what the payload holds. */
export class PayloadSignatureError extends Error {
  readonly code: 'malformed' | 'unknown_key' | 'wrong_context' | 'invalid';

  constructor(code: PayloadSignatureError['code'], message: string, options: { readonly cause?: unknown } = {}) {
    super(message, options.cause === undefined ? {} : { cause: options.cause });
    this.name = 'PayloadSignatureError';
    this.code = code;
  }
}

/**
 * Compact detached JWS (EdDSA on Ed25519, RFC 7797 with `b64: false`) over the RFC 8785 form of the payload. The same
 * input always gives the same text, as Ed25519 draws no random number.
 *
 * @throws TypeError for a payload without a canonical form
 */
export async function signPayload({ payload, key, header }: PayloadSigning): Promise<string> {
  const { kind, idempotencyKey, expiresAt, cluster_id } = header;
  const signed = await new FlattenedSign(bytesOf(payload))
    .setProtectedHeader({
      alg: ALG,
      kid: key.kid,
      b64: false,
      crit: ['b64'],
      kind,
      idempotencyKey,
      ...(expiresAt === undefined ? {} : { expiresAt }),
      cluster_id,
    })
    .sign(await privateKeyOf(key.privateJwk));
  return `${signed.protected}..${signed.signature}`;
}

/**
 * Verifies that one of `keys` signed the payload for this use.
 *
 * @throws PayloadSignatureError `malformed` when it is no such JWS, `unknown_key` when its `kid` is none of the keys,
 *   `invalid` when it is not over this payload, `wrong_context` when it was made for another cluster, kind, key or time
 */
export async function verifyPayload({ jws, payload, keys, expected }: PayloadVerification): Promise<void> {
  const [, protectedHeader = '', signature = ''] = (jws.length > MAX_JWS_LENGTH ? null : DETACHED.exec(jws)) ?? [];
  const header = headerOf(protectedHeader);
  const key = keys.find((candidate) => candidate.kid === header['kid'] && candidate.crv === CRV);
  if (key === undefined) {
    const known = keys.length === 0 ? 'no key of the control plane is known' : `known: ${keys.map(kidOf).join(', ')}`;
    throw new PayloadSignatureError('unknown_key', `it is made with key ${shown(header['kid'])}; ${known}`);
  }
  try {
    const input = { protected: protectedHeader, signature, payload: bytesOf(payload) };
    await flattenedVerify(input, await publicKeyOf(key), { algorithms: [ALG] });
  } catch (error) {
    if (!(error instanceof errors.JOSEError || error instanceof TypeError || error instanceof DOMException))
      throw error;
    const what = 'it is not over this content: one of the two was altered, or another key made it';
    throw new PayloadSignatureError('invalid', what, { cause: error });
  }
  for (const member of ['cluster_id', 'kind', 'idempotencyKey', 'expiresAt'] as const) {
    const wanted = expected[member];
    if (wanted === undefined || header[member] === wanted) continue;
    const message = `it was made for another ${member}: ${shown(header[member])}; this is ${shown(wanted)}`;
    throw new PayloadSignatureError('wrong_context', message);
  }
}

function bytesOf(payload: unknown): Uint8Array {
  return Buffer.from(canonicalJson(payload), 'utf8');
}

function headerOf(encoded: string): Readonly<Record<string, unknown>> {
  const header = parsedHeader(encoded);
  if (header === undefined) {
    throw new PayloadSignatureError('malformed', 'it is not a compact JWS with a detached payload');
  }
  if (header['alg'] !== ALG) {
    throw new PayloadSignatureError('malformed', `its alg is ${shown(header['alg'])}; ${ALG} is expected`);
  }
  const { crit } = header;
  if (header['b64'] !== false || !Array.isArray(crit) || crit.length !== 1 || crit[0] !== 'b64') {
    throw new PayloadSignatureError('malformed', 'its header must have b64: false and crit: ["b64"] (RFC 7797)');
  }
  if (typeof header['kid'] !== 'string') throw new PayloadSignatureError('malformed', 'its header has no kid');
  return header;
}

function parsedHeader(encoded: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const parsed: unknown = JSON.parse(Buffer.from(encoded, 'base64url').toString('utf8'));
    if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) return undefined;
    return { ...parsed };
  } catch {
    return undefined;
  }
}

/** For a message: what stands in a header that may be anyone's. */
function shown(value: unknown): string {
  if (typeof value !== 'string') return value === undefined ? 'none' : `a ${typeof value}`;
  return JSON.stringify(value.length <= 128 ? value : `${value.slice(0, 127)}…`).slice(1, -1);
}

function kidOf({ kid = 'without a kid' }: PublicJwk): string {
  return shown(kid);
}

// Importing a key costs as much as using it. The entries go with the objects that they are for.
const privateKeys = new WeakMap<Secret, Promise<CryptoKey>>();
const publicKeys = new WeakMap<PublicJwk, Promise<CryptoKey>>();

async function privateKeyOf(secret: Secret): Promise<CryptoKey> {
  return await imported(privateKeys, secret, () => JSON.parse(secret.expose()) as JWK);
}

async function publicKeyOf(jwk: PublicJwk): Promise<CryptoKey> {
  return await imported(publicKeys, jwk, () => ({ kty: 'OKP', crv: CRV, x: jwk.x ?? '' }));
}

async function imported<K extends object>(cache: WeakMap<K, Promise<CryptoKey>>, key: K, jwkOf: () => JWK) {
  const known = cache.get(key);
  if (known !== undefined) return await known;
  const made = importJWK(jwkOf() as JWK & { readonly kty: 'OKP' }, ALG).then((one) => {
    if (one instanceof Uint8Array) throw new TypeError('an Ed25519 key is expected');
    return one;
  });
  cache.set(key, made);
  return await made;
}
