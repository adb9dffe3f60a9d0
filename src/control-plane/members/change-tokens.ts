import type { Kysely } from 'kysely';
import { AppError } from '../../protocol/app-error.ts';
import { refusal } from '../../protocol/parse.ts';
import { hashToken, mintToken } from '../../protocol/token.ts';
import type { Secret } from '../../runtime/secret.ts';
import type { AccessRole, Scope } from '../access.ts';
import { CONFIGURED_ADMIN, RECOVERY_ADMIN } from '../first-start.ts';
import { deleteAdminToken, findAdminToken, scopesOfToken, type AdminIdentity } from '../store/admin-tokens.ts';
import { keepAdministrator } from '../store/administrators.ts';
import { appendAudit } from '../store/audit.ts';
import type { AuditKind } from '../store/audit-kinds.ts';
import { findMember } from '../store/members.ts';
import { lockOrganization } from '../store/organizations.ts';
import { deletePrivateFilters } from '../store/saved-filters.ts';
import type { MemberRow } from '../store/people-rows.ts';
import type { AdminTokenRow, Database } from '../store/schema.ts';
import type { ChangeMembersDeps } from './change-members.ts';
import { listText, refuseMoreThanOwn } from './own-scopes.ts';

export interface ChangeTokensDeps extends ChangeMembersDeps {
  readonly randomBytes: (n: number) => Uint8Array;
}

export interface NewToken {
  readonly name: string;
  /** What its bearer may approve as; of a member's token those are the member's. */
  readonly roles?: readonly string[];
  /** Default: `admin`; of a member's token whatever the member may do, also later. */
  readonly access?: readonly AccessRole[];
  readonly scopes?: readonly Scope[];
  readonly member?: string;
  readonly expiresInSeconds?: number;
}

/** @throws AppError `conflict` (the name is taken), `not_found` (the member), `forbidden` (more than the caller has) */
export async function createAdminToken(
  deps: ChangeTokensDeps,
  admin: AdminIdentity,
  given: NewToken,
): Promise<{ readonly row: AdminTokenRow; readonly token: Secret }> {
  const { name, roles, member: memberName } = given;
  refuseFixed(name, roles, memberName);
  const token = mintToken('svcadm', deps.randomBytes);
  const { id: organizationId } = admin.organization;
  const row = await deps.store.write(async (trx) => {
    await lockOrganization(trx, organizationId);
    const now = deps.clock.now();
    const made = rowOf(given, organizationId, hashToken(token.expose()), now);
    await refuseTaken(trx, made);
    const member = memberName === undefined ? undefined : await requireEnabled(trx, organizationId, memberName);
    refuseMoreThanOwn(admin, scopesOfToken(made, member), `admin token ${name}`);
    await trx.insertInto('admin_tokens').values(made).execute();
    await audit(trx, admin, made.created_at, 'AdminTokenCreated', createdText(made));
    return made;
  });
  return { row, token };
}

/** @throws AppError `not_found`, `conflict` (the configured one, the last one of an administrator), `forbidden` */
export async function removeAdminToken(deps: ChangeTokensDeps, admin: AdminIdentity, name: string): Promise<void> {
  const { id: organizationId } = admin.organization;
  await deps.store.write(async (trx) => {
    await lockOrganization(trx, organizationId);
    const row = await findAdminToken(trx, organizationId, name);
    if (row === undefined) throw new AppError('not_found', `there is no admin token ${name}`);
    if (name === CONFIGURED_ADMIN) {
      const message = `admin token ${name} is set by SERVICE_ADMIN_TOKEN: take it out of the environment and restart`;
      throw new AppError('conflict', message);
    }
    const member = row.member == null ? undefined : await findMember(trx, organizationId, row.member);
    refuseMoreThanOwn(admin, scopesOfToken(row, member), `admin token ${name}`);
    const now = deps.clock.now();
    const looking = { now, issuer: deps.issuer, what: `admin token ${name}` };
    await keepAdministrator(trx, organizationId, looking, async () => {
      await deleteAdminToken(trx, organizationId, name);
    });
    if (row.member == null) await deletePrivateFilters(trx, organizationId, name);
    const after = row.member == null ? 'what it approved no longer counts' : `member ${row.member} stays`;
    await audit(trx, admin, now.toISOString(), 'AdminTokenDeleted', `admin token ${name} deleted; ${after}`);
  });
}

function refuseFixed(name: string, roles: readonly string[] | undefined, member: string | undefined): void {
  if (name === CONFIGURED_ADMIN) {
    const message = `${name} is the name of the token in SERVICE_ADMIN_TOKEN; take another`;
    throw refusal([{ path: '/name', message }]);
  }
  if (name === RECOVERY_ADMIN) {
    const message = `${name} is the name of the token that servicectl organizations admin-token makes; take another`;
    throw refusal([{ path: '/name', message }]);
  }
  if (member === undefined || roles === undefined) return;
  throw refusal([{ path: '/roles', message: `are those of member ${member}; set them there` }]);
}

function rowOf(given: NewToken, organizationId: string, tokenHash: string, now: Date): AdminTokenRow {
  const { name, roles = [], access, scopes, member, expiresInSeconds } = given;
  return {
    token_hash: tokenHash,
    organization_id: organizationId,
    name,
    roles: listText(roles),
    created_at: now.toISOString(),
    expires_at: expiresInSeconds === undefined ? null : new Date(now.getTime() + expiresInSeconds * 1000).toISOString(),
    member: member ?? null,
    access: access === undefined ? null : listText(access),
    scopes: scopes === undefined ? null : listText(scopes),
  };
}

/** A name is one person's: a member's token may have that member's, and nobody else's. */
async function refuseTaken(trx: Kysely<Database>, { organization_id: id, name, member }: AdminTokenRow): Promise<void> {
  const faults = [{ path: '/name', message: 'is taken' }];
  if ((await findAdminToken(trx, id, name)) !== undefined) {
    const message = `there is an admin token ${name} already; delete it first or choose another name`;
    throw new AppError('conflict', message, { faults });
  }
  if (name === member || (await findMember(trx, id, name)) === undefined) return;
  const message = `${name} is a member, whose name only a token of that member may have (member: "${name}"); choose another name`;
  throw new AppError('conflict', message, { faults });
}

async function requireEnabled(trx: Kysely<Database>, organizationId: string, name: string): Promise<MemberRow> {
  const row = await findMember(trx, organizationId, name);
  if (row === undefined) throw new AppError('not_found', `there is no member ${name}`);
  if (row.disabled_at !== null) throw new AppError('conflict', `member ${name} is disabled; enable it again first`);
  return row;
}

function createdText(row: AdminTokenRow): string {
  const list = (text: string | null | undefined): string => (JSON.parse(text ?? '[]') as string[]).join(', ');
  const roles = list(row.roles);
  const parts = [
    row.member == null ? (roles === '' ? 'without a role' : `with roles ${roles}`) : `of member ${row.member}`,
    ...(row.access == null ? [] : [`access ${list(row.access)}`]),
    ...(row.scopes == null ? [] : [`scopes ${list(row.scopes)}`]),
    ...(row.expires_at === null ? [] : [`until ${row.expires_at}`]),
  ];
  return `admin token ${row.name} made ${parts.join(', ')}`;
}

async function audit(
  trx: Kysely<Database>,
  { organization, name: actor }: AdminIdentity,
  at: string,
  kind: AuditKind,
  summary: string,
): Promise<void> {
  await appendAudit(trx, { organizationId: organization.id, at, source: 'user', kind, actor, summary });
}
