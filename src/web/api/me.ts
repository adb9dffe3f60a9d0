import { SCOPES, type AccessRole, type Scope } from '../../control-plane/access.ts';

/** Who looks, and what he may do: `GET /me`. */
export interface Me {
  readonly name: string;
  readonly displayName?: string;
  readonly member: boolean;
  readonly organization: { readonly id: string; readonly name: string };
  readonly organizations: readonly { readonly id: string; readonly name: string }[];
  readonly access: readonly AccessRole[];
  readonly roles: readonly string[];
  readonly scopes: readonly Scope[];
  readonly tokenExpiresAt?: string;
  readonly via: 'token' | 'oidc';
}

/** The answer while one of several organizations has to be chosen. */
export type Whoever = Omit<Me, 'organization'> & Partial<Pick<Me, 'organization'>>;

/** Why he may not; undefined: he may. */
export function whyNot(me: Me, scope: Scope): string | undefined {
  if (me.scopes.includes(scope)) return undefined;
  return `This needs the scope ${scope} (${SCOPES[scope]}). You have: ${me.scopes.join(', ') || 'none'}.`;
}
