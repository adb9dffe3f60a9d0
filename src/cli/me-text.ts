import { factsText } from './output.ts';

/** Who calls, as `GET /me` shows it. */
export interface Me {
  readonly name: string;
  readonly displayName?: string;
  readonly member: boolean;
  /** Absent where somebody belongs to several and named none: nothing can be done before one is chosen. */
  readonly organization?: { readonly id: string; readonly name: string };
  readonly organizations: readonly { readonly id: string; readonly name: string }[];
  readonly access: readonly string[];
  readonly roles: readonly string[];
  readonly scopes: readonly string[];
  readonly tokenExpiresAt?: string;
  readonly via: 'token' | 'oidc';
}

export function meText(me: Me): string {
  const others = me.organizations.filter(({ id }) => id !== me.organization?.id).map(({ name }) => name);
  return factsText([
    ['name', me.displayName === undefined ? me.name : `${me.name} (${me.displayName})`],
    ['organization', me.organization?.name ?? 'none was chosen'],
    ['others', others.length === 0 ? undefined : `${others.join(', ')}; choose one with --organization`],
    ['member', me.member ? 'yes' : 'no, a token of its own'],
    ['access', me.access.join(', ')],
    ['may', me.scopes.join(', ')],
    ['approves as', me.roles.length === 0 ? undefined : me.roles.join(', ')],
    ['comes by', me.via === 'oidc' ? 'an identity provider' : 'a token'],
    ['token until', me.tokenExpiresAt ?? 'it is deleted'],
  ]);
}
