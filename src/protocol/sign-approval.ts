import { CompactSign, importJWK, type JWK } from 'jose';
import type { Secret } from '../runtime/secret.ts';
import type { ApprovalStatement } from './approval-statement.ts';
import { canonicalJson } from './canonical-json.ts';

const ALG = 'EdDSA';

/**
 * Compact JWS (RFC 7515) over the RFC 8785 form of the claims. The same input always gives the same text, as Ed25519 draws
 * no random number: signed twice after a crash it is the same statement.
 */
export async function signApproval(
  claims: ApprovalStatement,
  key: { readonly kid: string; readonly privateJwk: Secret },
): Promise<string> {
  const jwk = JSON.parse(key.privateJwk.expose()) as JWK;
  return await new CompactSign(Buffer.from(canonicalJson(claims), 'utf8'))
    .setProtectedHeader({ alg: ALG, kid: key.kid })
    .sign(await importJWK(jwk, ALG));
}
