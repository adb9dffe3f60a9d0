import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto';
import { canonicalJson } from '../protocol/canonical-json.ts';
import type { Secret } from '../runtime/secret.ts';

/**
 * The operator's own proof that it wrote something where others may write too: HMAC-SHA-256, by a key of that purpose and
 * cluster (HKDF, RFC 5869) which comes of the cluster's private one. Nobody in the cluster can make one.
 *
 * @throws AppError where the content has no canonical form
 */
export function sealOf(purpose: string, content: unknown, clusterId: string, key: Secret): string {
  const secret = Buffer.from(key.expose(), 'utf8');
  const derived = new Uint8Array(hkdfSync('sha256', secret, purpose, clusterId, 32));
  return createHmac('sha256', derived).update(canonicalJson(content), 'utf8').digest('base64url');
}

/** Whether the seal is over this very content, by one of the keys that the cluster has or had. */
export function isSealed(
  seal: string,
  purpose: string,
  content: unknown,
  clusterId: string,
  ring: readonly Secret[],
): boolean {
  const given = Buffer.from(seal, 'base64url');
  try {
    return ring.some((key) => {
      const made = Buffer.from(sealOf(purpose, content, clusterId, key), 'base64url');
      return made.length === given.length && timingSafeEqual(made, given);
    });
  } catch {
    // Text that has no canonical form, which we do not write.
    return false;
  }
}
