import { AppError } from '../protocol/app-error.ts';
import { assertPublicKey } from '../protocol/jwe.ts';
import type { PublicJwk } from '../protocol/register.ts';

/**
 * A public key as it is stored, where something can be encrypted to it. An earlier version took keys that nothing can be
 * encrypted to: such a one is undefined, as no key is.
 */
export function storedPublicKey(json: string | null): PublicJwk | undefined {
  if (json === null) return undefined;
  const jwk = JSON.parse(json) as unknown;
  try {
    assertPublicKey(jwk);
  } catch (error) {
    if (error instanceof AppError) return undefined;
    throw error;
  }
  return jwk;
}
