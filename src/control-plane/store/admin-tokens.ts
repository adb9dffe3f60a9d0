import type { Kysely } from 'kysely';
import { AppError } from '../../protocol/app-error.ts';
import { equalConstantTime, hashToken } from '../../protocol/token.ts';
import { scopesOf, type AccessRole, type Scope } from '../access.ts';
import type { AdminTokenRow, Database, OrganizationRow } from './schema.ts';

/** Who calls the admin API: one token of one organization. `name` is the actor in audit and commits. */
export interface AdminIdentity {
  readonly name: string;
  /** Which of the tokens that this name had over time. */
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

/** By name; those of `names` alone, or at most `limit` of those after `after`. */
export async function listAdminTokens(
  db: Kysely<Database>,
  organizationId: string,
  which: { readonly names: readonly string[] } | { readonly limit: number; readonly after: string | undefined },
): Promise<AdminTokenRow[]> {
  let query = db.selectFrom('admin_tokens').selectAll().where('organization_id', '=', organizationId).orderBy('name');
  if ('names' in which) {
    if (which.names.length === 0) return [];
    return await query.where('name', 'in', which.names).execute();
  }
  if (which.after !== undefined) query = query.where('name', '>', which.after);
  return await query.limit(which.limit).execute();
}

/** Whether anybody can still come in, with another token than that of the name `except`. */
export async function hasAdminToken(
  db: Kysely<Database>,
  organizationId: string,
  now: Date,
  except = '',
): Promise<boolean> {
  const row = await db
    .selectFrom('admin_tokens')
    .select('token_hash')
    .where('organization_id', '=', organizationId)
    .where('name', '<>', except)
    .where((eb) => eb.or([eb('expires_at', 'is', null), eb('expires_at', '>', now.toISOString())]))
    .limit(1)
    .executeTakeFirst();
  return row !== undefined;
}

export type FoundAdmin =
  | { readonly state: 'valid'; readonly identity: AdminIdentity }
  | { readonly state: 'expired' }
  | { readonly state: 'unknown' };

/** Whose token it is. Looked up by digest, so that the time it takes says nothing about stored tokens. */
export async function findAdmin(db: Kysely<Database>, token: string, now: Date): Promise<FoundAdmin> {
  const digest = hashToken(token);
  const row = await db
    .selectFrom('admin_tokens')
    .innerJoin('organizations', 'organizations.id', 'admin_tokens.organization_id')
    .select([
      'token_hash',
      'admin_tokens.name as actor',
      'roles',
      'expires_at',
      'access',
      'scopes',
      'organizations.id',
      'organizations.name',
    ])
    .where('token_hash', '=', digest)
    .executeTakeFirst();
  if (row === undefined || !equalConstantTime(row.token_hash, digest)) return { state: 'unknown' };
  if (row.expires_at !== null && row.expires_at <= now.toISOString()) return { state: 'expired' };
  const roles = JSON.parse(row.roles ?? '[]') as string[];
  const access = JSON.parse(row.access ?? '["admin"]') as AccessRole[];
  const scopes = scopesOf(access, row.scopes == null ? undefined : (JSON.parse(row.scopes) as Scope[]));
  const organization = { id: row.id, name: row.name };
  return { state: 'valid', identity: { name: row.actor, tokenHash: digest, roles, access, scopes, organization } };
}
