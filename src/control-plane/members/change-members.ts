import type { Kysely } from 'kysely';
import { AppError } from '../../protocol/app-error.ts';
import { refusal } from '../../protocol/parse.ts';
import type { Clock } from '../../runtime/clock.ts';
import { scopesOf, type AccessRole } from '../access.ts';
import { CONFIGURED_ADMIN, FIRST_ADMIN, RECOVERY_ADMIN } from '../first-start.ts';
import { findAdminToken, type AdminIdentity } from '../store/admin-tokens.ts';
import { keepAdministrator } from '../store/administrators.ts';
import { appendAudit } from '../store/audit.ts';
import type { AuditKind } from '../store/audit-kinds.ts';
import { deleteMember, findMember, memberScopes } from '../store/members.ts';
import type { Store } from '../store/open-store.ts';
import { lockOrganization } from '../store/organizations.ts';
import type { MemberRow } from '../store/people-rows.ts';
import type { Database } from '../store/schema.ts';
import { listText, refuseMoreThanOwn } from './own-scopes.ts';

export interface ChangeMembersDeps {
  readonly store: Store;
  readonly clock: Clock;
  /** The identity provider that members come in by; absent: none. */
  readonly issuer: string | undefined;
}

type Subject = { readonly issuer: string; readonly subject: string };

export interface NewMember {
  readonly name: string;
  readonly access: readonly AccessRole[];
  readonly roles?: readonly string[];
  readonly displayName?: string;
  readonly email?: string;
  readonly oidc?: Subject;
}

/** What changes; null takes away. */
export interface MemberChange {
  readonly access?: readonly AccessRole[];
  readonly roles?: readonly string[];
  readonly displayName?: string | null;
  readonly email?: string | null;
  readonly oidc?: Subject | null;
  readonly disabled?: boolean;
}

/** @throws AppError `conflict` (name, address or subject are taken), `forbidden` (more than the caller has) */
export async function addMember(deps: ChangeMembersDeps, admin: AdminIdentity, given: NewMember): Promise<MemberRow> {
  const { name, access, roles = [], displayName = null, email, oidc } = given;
  if ([CONFIGURED_ADMIN, FIRST_ADMIN, RECOVERY_ADMIN].includes(name)) {
    throw refusal([{ path: '/name', message: `${name} is the name of a token that the control plane makes itself` }]);
  }
  refuseMoreThanOwn(admin, scopesOf(access), `member ${name}`);
  const { id: organizationId } = admin.organization;
  return await deps.store.write(async (trx) => {
    await lockOrganization(trx, organizationId);
    if ((await findMember(trx, organizationId, name)) !== undefined) throw taken(name, 'a member', '/name');
    if ((await findAdminToken(trx, organizationId, name)) !== undefined) {
      throw taken(name, 'an admin token', '/name', '; one name is one person: delete that token first');
    }
    const at = deps.clock.now().toISOString();
    const row: MemberRow = {
      organization_id: organizationId,
      name,
      display_name: displayName,
      access: listText(access),
      roles: listText(roles),
      email: email?.toLowerCase() ?? null,
      oidc_issuer: oidc?.issuer ?? null,
      oidc_subject: oidc?.subject ?? null,
      disabled_at: null,
      last_seen_at: null,
      created_at: at,
      updated_at: at,
    };
    await refuseTakenIdentity(trx, row);
    await trx.insertInto('members').values(row).execute();
    await audit(trx, admin, at, 'MemberAdded', `member ${name} added: ${describe(row)}`);
    return row;
  });
}

/**
 * @param check called with what is there, inside the transaction
 * @throws AppError `not_found`, `conflict` (address or subject are taken, the last administrator), `forbidden`
 */
export async function changeMember(
  deps: ChangeMembersDeps,
  admin: AdminIdentity,
  name: string,
  change: MemberChange,
  check: (row: MemberRow) => void,
): Promise<MemberRow> {
  const { id: organizationId } = admin.organization;
  return await deps.store.write(async (trx) => {
    await lockOrganization(trx, organizationId);
    const row = await requireMember(trx, organizationId, name);
    check(row);
    // Whoever could put his or her own address on an admin would be that admin.
    refuseMoreThanOwn(admin, memberScopes(row), `member ${name}`);
    const now = deps.clock.now();
    const after = changed(row, change, now.toISOString());
    refuseMoreThanOwn(admin, memberScopes(after), `member ${name}`);
    const was = describe(row);
    if (describe(after) === was && after.display_name === row.display_name) return row;
    await refuseTakenIdentity(trx, after);
    const looking = { now, issuer: deps.issuer, what: `member ${name}` };
    await keepAdministrator(trx, organizationId, looking, async () => {
      const { organization_id: _organization, name: _name, created_at: _created, ...values } = after;
      await trx
        .updateTable('members')
        .set(values)
        .where('organization_id', '=', organizationId)
        .where('name', '=', name)
        .execute();
    });
    const summary = `member ${name} is now: ${describe(after)}; was: ${was}`;
    await audit(trx, admin, after.updated_at, 'MemberChanged', summary);
    return after;
  });
}

/** @throws AppError `not_found`, `conflict` (the last administrator), `forbidden` */
export async function removeMember(
  deps: ChangeMembersDeps,
  admin: AdminIdentity,
  name: string,
  check: (row: MemberRow) => void,
): Promise<void> {
  const { id: organizationId } = admin.organization;
  await deps.store.write(async (trx) => {
    await lockOrganization(trx, organizationId);
    const row = await requireMember(trx, organizationId, name);
    check(row);
    refuseMoreThanOwn(admin, memberScopes(row), `member ${name}`);
    const now = deps.clock.now();
    await keepAdministrator(trx, organizationId, { now, issuer: deps.issuer, what: `member ${name}` }, async () => {
      await deleteMember(trx, organizationId, name);
    });
    const summary = `member ${name} removed with the tokens that he or she had; what was approved and not merged yet no longer counts`;
    await audit(trx, admin, now.toISOString(), 'MemberRemoved', summary);
  });
}

export async function requireMember(db: Kysely<Database>, organizationId: string, name: string): Promise<MemberRow> {
  const row = await findMember(db, organizationId, name);
  if (row === undefined) throw new AppError('not_found', `there is no member ${name}`);
  return row;
}

function changed(row: MemberRow, change: MemberChange, at: string): MemberRow {
  const { access, roles, displayName, email, oidc, disabled } = change;
  return {
    ...row,
    ...(access === undefined ? {} : { access: listText(access) }),
    ...(roles === undefined ? {} : { roles: listText(roles) }),
    ...(displayName === undefined ? {} : { display_name: displayName }),
    ...(email === undefined ? {} : { email: email?.toLowerCase() ?? null }),
    ...(oidc === undefined ? {} : { oidc_issuer: oidc?.issuer ?? null, oidc_subject: oidc?.subject ?? null }),
    ...(oidc === undefined || isSame(row, oidc) ? {} : { last_seen_at: null }),
    ...(disabled === undefined ? {} : { disabled_at: disabled ? (row.disabled_at ?? at) : null }),
    updated_at: at,
  };
}

/** Of another subject nothing was seen yet: sign-in goes by it where somebody is a member of several organizations. */
function isSame(row: MemberRow, oidc: Subject | null): boolean {
  return row.oidc_issuer === (oidc?.issuer ?? null) && row.oidc_subject === (oidc?.subject ?? null);
}

/** Two members with one address: nobody could say which of them signed in. */
async function refuseTakenIdentity(trx: Kysely<Database>, row: MemberRow): Promise<void> {
  const others = trx
    .selectFrom('members')
    .select('name')
    .where('organization_id', '=', row.organization_id)
    .where('name', '<>', row.name);
  const { email, oidc_issuer: issuer, oidc_subject: subject } = row;
  if (email !== null) {
    const other = await others.where('email', '=', email).executeTakeFirst();
    if (other !== undefined) throw taken(`the address ${email}`, `member ${other.name}`, '/email');
  }
  if (issuer === null || subject === null) return;
  const other = await others.where('oidc_issuer', '=', issuer).where('oidc_subject', '=', subject).executeTakeFirst();
  if (other !== undefined) throw taken(`the subject ${subject}`, `member ${other.name}`, '/oidc/subject');
}

function taken(what: string, by: string, path: string, next = ''): AppError {
  return new AppError('conflict', `${what} is taken by ${by}${next}`, { faults: [{ path, message: 'is taken' }] });
}

function describe(row: MemberRow): string {
  const roles = JSON.parse(row.roles) as string[];
  const parts = [
    `access ${(JSON.parse(row.access) as string[]).join(', ')}`,
    roles.length === 0 ? 'no role to approve as' : `approves as ${roles.join(', ')}`,
    ...(row.email === null ? [] : [`address ${row.email}`]),
    ...(row.oidc_subject === null ? [] : [`subject ${row.oidc_subject} of ${row.oidc_issuer ?? ''}`]),
    ...(row.disabled_at === null ? [] : ['disabled']),
  ];
  return parts.join('; ');
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
