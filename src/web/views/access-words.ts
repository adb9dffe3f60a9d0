import { ACCESS_ROLES, SCOPES, type AccessRole, type Scope } from '../../control-plane/access.ts';

/** Each role with the scopes that it is made of. */
export const ACCESS_OPTIONS = (Object.keys(ACCESS_ROLES) as AccessRole[]).map((role) => {
  const scopes: readonly Scope[] = ACCESS_ROLES[role];
  return [role, role === 'admin' ? 'everything' : scopes.join(', ')] as const;
});

export const SCOPE_OPTIONS = (Object.keys(SCOPES) as Scope[]).map((scope) => [scope, SCOPES[scope]] as const);
