import { createPublicKey, verify } from 'node:crypto';
import { Value } from 'typebox/value';
import type { SigningKeyEndorsement } from '../protocol/agent-config.ts';
import { PublicJwk } from '../protocol/register.ts';
import { okpThumbprint } from '../protocol/signing-key.ts';

/** What the control plane says about its signing keys. */
export interface OfferedKeys {
  /** The current one first. */
  readonly keys: readonly PublicJwk[];
  readonly endorsements: readonly SigningKeyEndorsement[];
}

export interface KeyDecision {
  /** The keys that count from now on, the current one first. Never empty where there was one before. */
  readonly accepted: readonly PublicJwk[];
  /** Offered, and neither accepted before nor endorsed by one that was. */
  readonly refused: readonly PublicJwk[];
}

const MAX_KEYS = 16;

/**
 * Which of the offered keys count: those accepted before, and those that one of them endorsed, through any number of
 * successors. One that is not offered any more is revoked and stops counting. Where nothing was ever accepted, what is
 * offered is: somebody has to be believed at first, and that is whom the registration reached.
 *
 * Where none of the offered counts, the accepted stay: whoever answers in the control plane's place must not be able to
 * empty the list and then fill it.
 */
export function decideKeys(accepted: readonly PublicJwk[], offered: OfferedKeys): KeyDecision {
  const usable = offered.keys.filter((key) => thumbprintOf(key) !== undefined).slice(0, MAX_KEYS);
  if (accepted.length === 0) return { accepted: usable, refused: [] };
  const trusted = endorsedBy(accepted, offered.endorsements);
  const isTrusted = (key: PublicJwk): boolean => trusted.has(thumbprintOf(key) ?? '');
  const counting = usable.filter(isTrusted);
  return {
    accepted: counting.length === 0 ? accepted : counting,
    refused: offered.keys.filter((key) => !isTrusted(key)),
  };
}

/** The members that matter, as others may come along at any length; of so many keys as may count at a time. */
export function plainKeys(keys: readonly PublicJwk[]): readonly PublicJwk[] {
  return keys.slice(0, MAX_KEYS).map(({ kty, crv, x, kid, use, alg }) => ({
    kty,
    ...(crv === undefined ? {} : { crv }),
    ...(x === undefined ? {} : { x }),
    ...(kid === undefined ? {} : { kid }),
    ...(use === undefined ? {} : { use }),
    ...(alg === undefined ? {} : { alg }),
  }));
}

/** JWKs from their JSON text, as they stand in a status or an annotation; what cannot be read is left out. */
export function readJwks(text: string): readonly PublicJwk[] {
  try {
    const value: unknown = JSON.parse(text);
    return (Array.isArray(value) ? value : [value]).filter((jwk): jwk is PublicJwk => Value.Check(PublicJwk, jwk));
  } catch {
    return [];
  }
}

/** Thumbprints of the keys themselves and of all that they and their successors endorsed. */
function endorsedBy(keys: readonly PublicJwk[], endorsements: readonly SigningKeyEndorsement[]): ReadonlySet<string> {
  const trusted = new Map(keys.flatMap((key) => asEntry(key)));
  let waiting = endorsements.slice(0, MAX_KEYS);
  for (let grew = true; grew;) {
    grew = false;
    for (const endorsement of waiting) {
      const endorsed = [...trusted.values()].map((key) => openEndorsement(endorsement, key)).find(Boolean);
      if (endorsed === undefined) continue;
      for (const [thumbprint, key] of asEntry(endorsed)) trusted.set(thumbprint, key);
      waiting = waiting.filter((other) => other !== endorsement);
      grew = true;
    }
  }
  return new Set(trusted.keys());
}

/** The key that a compact JWS (RFC 7515, EdDSA by RFC 8037) vouches for; undefined where `by` did not sign it. */
function openEndorsement({ jws, predecessor }: SigningKeyEndorsement, by: PublicJwk): PublicJwk | undefined {
  const [protectedHeader = '', payload = '', signature = '', ...more] = jws.split('.');
  if (more.length > 0 || (by.kid !== undefined && by.kid !== predecessor)) return undefined;
  const header = parse(protectedHeader);
  if (header?.['alg'] !== 'EdDSA' || 'crit' in header || 'b64' in header) return undefined;
  const key = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x: by.x ?? '' }, format: 'jwk' });
  const signed = Buffer.from(`${protectedHeader}.${payload}`, 'ascii');
  if (!verify(null, signed, key, Buffer.from(signature, 'base64url'))) return undefined;
  const endorsed = parse(payload);
  return Value.Check(PublicJwk, endorsed) ? endorsed : undefined;
}

function asEntry(key: PublicJwk): readonly (readonly [string, PublicJwk])[] {
  const thumbprint = thumbprintOf(key);
  return thumbprint === undefined ? [] : [[thumbprint, key]];
}

/** A key is who it is by its value: the `kid` is what somebody says. Undefined: no Ed25519 key. */
function thumbprintOf({ kty, crv, x = '' }: PublicJwk): string | undefined {
  const raw = Buffer.from(x, 'base64url');
  const isEd25519 = kty === 'OKP' && crv === 'Ed25519' && raw.length === 32 && raw.toString('base64url') === x;
  return isEd25519 ? okpThumbprint('Ed25519', x) : undefined;
}

function parse(part: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(Buffer.from(part, 'base64url').toString('utf8'));
    return typeof value === 'object' && value !== null ? { ...value } : undefined;
  } catch {
    return undefined;
  }
}
