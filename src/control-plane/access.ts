/** What a call needs (`http/admin/route-scopes.ts` says which needs what). */
export const SCOPES = {
  read: 'sees everything of the organization but secrets',
  deploy: 'asks for intents and operations, cancels them, comments',
  approve: 'approves and rejects intents and proposals',
  clusters: 'makes clusters, changes, moves, revokes and deletes them, with their keys and credentials',
  catalog: 'changes catalog entries, operation templates and their credentials',
  repositories: 'changes repositories, their credentials and commit signing keys',
  organization: 'changes members, tokens, settings, channel and recovery key of the organization',
} as const satisfies Record<string, string>;
export type Scope = keyof typeof SCOPES;

/** What members and tokens are given; each is a set of scopes. */
export const ACCESS_ROLES = {
  viewer: ['read'],
  deployer: ['read', 'deploy'],
  approver: ['read', 'approve'],
  admin: Object.keys(SCOPES) as Scope[],
} as const satisfies Record<string, readonly Scope[]>;
export type AccessRole = keyof typeof ACCESS_ROLES;

/** What somebody with these roles may do, where `scopes` of a token does not say less. */
export function scopesOf(access: readonly AccessRole[], scopes?: readonly Scope[]): ReadonlySet<Scope> {
  const given = new Set<Scope>(access.flatMap((role) => ACCESS_ROLES[role]));
  const all = Object.keys(SCOPES) as Scope[];
  return new Set(all.filter((scope) => given.has(scope) && scopes?.includes(scope) !== false));
}
