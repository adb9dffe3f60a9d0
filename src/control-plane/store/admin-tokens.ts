import type { Kysely } from 'kysely';
import { AppError } from '../../protocol/app-error.ts';
import { equalConstantTime, hashToken } from '../../protocol/token.ts';
import { scopesOf, type AccessRole, type Scope } from '../access.ts';
import { accessOf, findMember, memberKey, memberScopes } from './members.ts';
import type { MemberRow } from './people-rows.ts';
import type { AdminTokenRow, Database, OrganizationRow } from './schema.ts';

/** Who calls the admin API in one organization: a member, or a token of its own. `name` is the actor in audit and commits. */
export interface AdminIdentity {
  readonly name: string;
  /** Which of the tokens that this name had over time; of a member, what stands for him or her (`memberKey`). */
  readonly tokenHash: string;
  /** What it may approve as. */
  readonly roles: readonly string[];
  readonly access: readonly AccessRole[];
  /** What it may do; of a token, never more than its member may. */
  readonly scopes: ReadonlySet<Scope>;
  /** Of the member that came in; absent: a token of its own. */
  readonly member?: string;
  readonly organization: Pick<OrganizationRow, 'id' | 'name'>;
}

/**
 * Stores the hash of `token` under `name`, in place of what that name had before.
 *
 * @throws AppError `conflict` when it is another name's token: under a new one a person could approve what he or she asked
 *   for under the old one
 */
export async function putAdminToken(
  trx: Kysely<Database>,
  admin: { readonly organizationId: string; readonly name: string; readonly token: string; readonly now: Date },
): Promise<void> {
  const before = await findAdminToken(trx, admin.organizationId, admin.name);
  const hash = hashToken(admin.token);
  // The same as before: made anew, what was approved with it would no longer count.
  if (before?.token_hash === hash) return;
  const other = await trx.selectFrom('admin_tokens').select('name').where('token_hash', '=', hash).executeTakeFirst();
  if (other !== undefined) {
    throw new AppError('conflict', `SERVICE_ADMIN_TOKEN is the token of ${other.name}; choose one that nobody has`);
  }
  await deleteAdminToken(trx, admin.organizationId, admin.name);
  await trx
    .insertInto('admin_tokens')
    .values({
      token_hash: hash,
      organization_id: admin.organizationId,
      name: admin.name,
      roles: null,
      created_at: admin.now.toISOString(),
      expires_at: null,
    })
    .execute();
}

export async function deleteAdminToken(trx: Kysely<Database>, organizationId: string, name: string): Promise<void> {
  await trx.deleteFrom('admin_tokens').where('organization_id', '=', organizationId).where('name', '=', name).execute();
}

export async function findAdminToken(
  db: Kysely<Database>,
  organizationId: string,
  name: string,
): Promise<AdminTokenRow | undefined> {
  return await db
    .selectFrom('admin_tokens')
    .selectAll()
    .where('organization_id', '=', organizationId)
    .where('name', '=', name)
    .executeTakeFirst();
}

/** By name; of `names` those that are no member's, or at most `limit` of all after `after`. */
export async function listAdminTokens(
  db: Kysely<Database>,
  organizationId: string,
  which: { readonly names: readonly string[] } | { readonly limit: number; readonly after: string | undefined },
): Promise<AdminTokenRow[]> {
  let query = db.selectFrom('admin_tokens').selectAll().where('organization_id', '=', organizationId).orderBy('name');
  if ('names' in which) {
    if (which.names.length === 0) return [];
    return await query.where('name', 'in', which.names).where('member', 'is', null).execute();
  }
  if (which.after !== undefined) query = query.where('name', '>', which.after);
  return await query.limit(which.limit).execute();
}

/** Whoever came in, and how. */
export interface SignedIn extends AdminIdentity {
  readonly displayName?: string;
  readonly via: 'token' | 'oidc';
  /** Where else he or she may go, this organization with it. */
  readonly organizations: readonly Pick<OrganizationRow, 'id' | 'name'>[];
  /** Of the token that was presented; absent: it does not expire. RFC 3339. */
  readonly expiresAt?: string;
}

export type FoundAdmin =
  | {
      readonly state: 'valid';
      readonly identity: SignedIn;
      readonly tokenHash: string;
      readonly lastUsedAt: string | null;
    }
  | { readonly state: 'expired' }
  | { readonly state: 'unknown' }
  /** A token of a member who was disabled. */
  | { readonly state: 'disabled'; readonly member: string };

/** Whose token it is. Looked up by digest, so that the time it takes says nothing about stored tokens. */
export async function findAdmin(db: Kysely<Database>, token: string, now: Date): Promise<FoundAdmin> {
  const digest = hashToken(token);
  const row = await db
    .selectFrom('admin_tokens')
    .innerJoin('organizations', 'organizations.id', 'admin_tokens.organization_id')
    .selectAll('admin_tokens')
    .select('organizations.name as organization_name')
    .where('token_hash', '=', digest)
    .executeTakeFirst();
  if (row === undefined || !equalConstantTime(row.token_hash, digest)) return { state: 'unknown' };
  if (row.expires_at !== null && row.expires_at <= now.toISOString()) return { state: 'expired' };
  const organization = { id: row.organization_id, name: row.organization_name };
  const came = { via: 'token', organization, organizations: [organization], ...expiryOf(row) } as const;
  const of = { tokenHash: digest, lastUsedAt: row.last_used_at ?? null };
  if (row.member == null) {
    const who = { name: row.name, tokenHash: digest, roles: JSON.parse(row.roles ?? '[]') as string[] };
    const may = { access: accessOf(row), scopes: scopesOfToken(row, undefined) };
    return { state: 'valid', identity: { ...who, ...may, ...came }, ...of };
  }
  const member = await findMember(db, row.organization_id, row.member);
  // Deleted just now, with its tokens.
  if (member === undefined) return { state: 'unknown' };
  if (member.disabled_at !== null) return { state: 'disabled', member: member.name };
  const scopes = scopesOfToken(row, member);
  const access = row.access == null ? accessOf(member) : accessOf(row).filter((role) => isIn(scopes, role));
  return { state: 'valid', identity: { ...identityOfMember(member), access, scopes, ...came }, ...of };
}

/** Who a member is, whichever way he or she comes in. */
export function identityOfMember(member: MemberRow) {
  return {
    name: member.name,
    member: member.name,
    ...(member.display_name === null ? {} : { displayName: member.display_name }),
    tokenHash: memberKey(member),
    roles: JSON.parse(member.roles) as string[],
  };
}

/** What a token lets do: what it was given, and of that no more than its member may. */
export function scopesOfToken(
  token: Pick<AdminTokenRow, 'access' | 'scopes'>,
  member: Pick<MemberRow, 'access'> | undefined,
): ReadonlySet<Scope> {
  const limit = token.scopes == null ? undefined : (JSON.parse(token.scopes) as Scope[]);
  if (member === undefined) return scopesOf(accessOf(token), limit);
  const of = memberScopes(member);
  const given = scopesOf(token.access == null ? accessOf(member) : accessOf(token), limit);
  return new Set([...given].filter((scope) => of.has(scope)));
}

function isIn(scopes: ReadonlySet<Scope>, role: AccessRole): boolean {
  return [...scopesOf([role])].every((scope) => scopes.has(scope));
}

function expiryOf({ expires_at: at }: AdminTokenRow): { readonly expiresAt?: string } {
  return at === null ? {} : { expiresAt: at };
}
