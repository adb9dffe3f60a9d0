import { createHash } from 'node:crypto';
import { Type, type Static } from 'typebox';
import { canonicalJson } from './canonical-json.ts';

/**
 * What the control plane signs when somebody approved an operation, as compact JWS (EdDSA, the cluster's signing key). It is
 * good for one object with one spec on one cluster, once, for a time. `iat` and `exp` are seconds since 1970 (RFC 7519).
 */
export const ApprovalStatement = Type.Object({
  cluster_id: Type.String({ minLength: 1, maxLength: 64 }),
  namespace: Type.String({ minLength: 1, maxLength: 63 }),
  name: Type.String({ minLength: 1, maxLength: 253 }),
  specHash: Type.String({ minLength: 1, maxLength: 128 }),
  /** Names of those who approved, separated by `, `. */
  approvedBy: Type.String({ minLength: 1, maxLength: 1024 }),
  /** Who asked for it; never one of those who approved. */
  requestedBy: Type.Optional(Type.String({ minLength: 1, maxLength: 256 })),
  iat: Type.Integer({ minimum: 0 }),
  exp: Type.Integer({ minimum: 0 }),
  jti: Type.String({ minLength: 1, maxLength: 128 }),
});
export type ApprovalStatement = Static<typeof ApprovalStatement>;

/**
 * What an approval is bound to: `sha256-` and the base64url SHA-256 over the RFC 8785 form of the spec without `approval`,
 * which holds the statement itself.
 */
export function approvedSpecHash(spec: Readonly<Record<string, unknown>>): string {
  const { approval: _approval, ...rest } = spec;
  return `sha256-${createHash('sha256').update(canonicalJson(rest), 'utf8').digest('base64url')}`;
}

/** How a spec that was asked for and not approved is named in `/config`. */
export function pendingName(namespace: string, name: string, specHash: string): string {
  return `${namespace}/${name}@${specHash}`;
}
