import { createHash, generateKeyPairSync, sign } from 'node:crypto';
import canonicalize from 'canonicalize';

/** A control plane's signing key for one cluster. */
export interface ScriptedKey {
  readonly publicJwk: Readonly<Record<string, string>>;
  /** Detached JWS over a job's payload (decisions, "Jobs"). */
  readonly sign: (payload: unknown, header: Readonly<Record<string, unknown>>) => string;
}

export function signingKey(): ScriptedKey {
  const { privateKey } = generateKeyPairSync('ed25519');
  const { x = '' } = privateKey.export({ format: 'jwk' });
  const kid = createHash('sha256')
    .update(JSON.stringify({ crv: 'Ed25519', kty: 'OKP', x }))
    .digest('base64url');
  return {
    publicJwk: { kty: 'OKP', crv: 'Ed25519', x, kid, use: 'sig', alg: 'EdDSA' },
    sign: (payload, header) => {
      const protectedHeader = { alg: 'EdDSA', kid, b64: false, crit: ['b64'], ...header };
      const encoded = Buffer.from(JSON.stringify(protectedHeader)).toString('base64url');
      const input = Buffer.from(`${encoded}.${canonicalize(payload) ?? ''}`);
      return `${encoded}..${sign(null, input, privateKey).toString('base64url')}`;
    },
  };
}
