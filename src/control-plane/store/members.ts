import type { Kysely } from 'kysely';
import { hashToken } from '../../protocol/token.ts';
import { scopesOf, type AccessRole, type Scope } from '../access.ts';
import type { Database, OrganizationRow } from './schema.ts';
import type { MemberRow } from './people-rows.ts';
import { deletePrivateFilters } from './saved-filters.ts';

export async function findMember(
  db: Kysely<Database>,
  organizationId: string,
  name: string,
): Promise<MemberRow | undefined> {
  return await db
    .selectFrom('members')
    .selectAll()
    .where('organization_id', '=', organizationId)
    .where('name', '=', name)
    .executeTakeFirst();
}

/** By name; those of `names` alone, or at most `limit` of those after `after`. */
export async function listMembers(
  db: Kysely<Database>,
  organizationId: string,
  which: { readonly names: readonly string[] } | { readonly limit: number; readonly after: string | undefined },
): Promise<MemberRow[]> {
  let query = db.selectFrom('members').selectAll().where('organization_id', '=', organizationId).orderBy('name');
  if ('names' in which) {
    if (which.names.length === 0) return [];
    return await query.where('name', 'in', which.names).execute();
  }
  if (which.after !== undefined) query = query.where('name', '>', which.after);
  return await query.limit(which.limit).execute();
}

/** With their tokens, and the filters that nobody else uses. */
export async function deleteMember(trx: Kysely<Database>, organizationId: string, name: string): Promise<void> {
  for (const [table, column] of [
    ['admin_tokens', 'member'],
    ['members', 'name'],
  ] as const) {
    await trx.deleteFrom(table).where('organization_id', '=', organizationId).where(column, '=', name).execute();
  }
  await deletePrivateFilters(trx, organizationId, name);
}

export type MemberOfOrganization = MemberRow & { readonly organization_name: OrganizationRow['name'] };

/** In all organizations: who is bound to a subject, and who has its address. */
export async function membersOfSubject(
  db: Kysely<Database>,
  subject: { readonly issuer: string; readonly subject: string; readonly email: string | undefined },
): Promise<MemberOfOrganization[]> {
  return await db
    .selectFrom('members')
    .innerJoin('organizations', 'organizations.id', 'members.organization_id')
    .selectAll('members')
    .select('organizations.name as organization_name')
    .where((eb) =>
      eb.or([
        eb.and([eb('oidc_issuer', '=', subject.issuer), eb('oidc_subject', '=', subject.subject)]),
        ...(subject.email === undefined ? [] : [eb('email', '=', subject.email)]),
      ]),
    )
    .orderBy('organizations.name')
    .orderBy('members.name')
    .execute();
}

/**
 * What stands for a member in place of the hash of a token: the same whichever way he or she comes in, and another one for
 * whoever has the name later.
 */
export function memberKey(member: Pick<MemberRow, 'organization_id' | 'name' | 'created_at'>): string {
  return hashToken(`member/${member.organization_id}/${member.name}/${member.created_at}`);
}

export function accessOf(row: { readonly access?: string | null | undefined }): AccessRole[] {
  return JSON.parse(row.access ?? '["admin"]') as AccessRole[];
}

export function memberScopes(member: Pick<MemberRow, 'access'>): ReadonlySet<Scope> {
  return scopesOf(accessOf(member));
}
