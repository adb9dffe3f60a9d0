import { createHash, generateKeyPairSync } from 'node:crypto';
import { Secret } from '../runtime/secret.ts';
import type { PublicJwk } from './register.ts';

/** A per-cluster signing key. `privateJwk` exposes the private JWK as JSON text, ready to be sealed and stored. */
export interface SigningKey {
  readonly kid: string;
  readonly publicJwk: PublicJwk;
  readonly privateJwk: Secret;
}

/** A new Ed25519 key (RFC 8037); its `kid` is the RFC 7638 thumbprint. */
export function generateSigningKey(): SigningKey {
  const { privateKey } = generateKeyPairSync('ed25519');
  const { x, d } = privateKey.export({ format: 'jwk' });
  if (x === undefined || d === undefined) throw new Error('an Ed25519 key has no x or d');
  const publicMembers = { kty: 'OKP', crv: 'Ed25519', x };
  const kid = okpThumbprint('Ed25519', x);
  return {
    kid,
    publicJwk: { ...publicMembers, kid, use: 'sig', alg: 'EdDSA' },
    privateJwk: new Secret(JSON.stringify({ ...publicMembers, d, kid, use: 'sig', alg: 'EdDSA' })),
  };
}

/** RFC 7638 thumbprint of an octet key pair (RFC 8037, appendix A.3), base64url. */
export function okpThumbprint(crv: string, x: string): string {
  return createHash('sha256')
    .update(JSON.stringify({ crv, kty: 'OKP', x }))
    .digest('base64url');
}
