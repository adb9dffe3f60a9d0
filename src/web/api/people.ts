import type { AccessRole, Scope } from '../../control-plane/access.ts';

/** `GET /members`. */
export interface Member {
  readonly name: string;
  readonly displayName?: string;
  readonly email?: string;
  readonly access: readonly AccessRole[];
  /** What the member may approve as. */
  readonly roles: readonly string[];
  readonly oidc?: { readonly issuer: string; readonly subject: string };
  readonly disabledAt?: string;
  readonly lastSeenAt?: string;
  readonly createdAt: string;
}

/** `GET /admin-tokens`. */
export interface AdminToken {
  readonly name: string;
  readonly member?: string;
  readonly access?: readonly AccessRole[];
  readonly scopes?: readonly Scope[];
  readonly roles: readonly string[];
  readonly createdAt: string;
  readonly lastUsedAt?: string;
  readonly expiresAt?: string;
  readonly expired: boolean;
}
