import type { Kysely } from 'kysely';
import { AppError } from '../protocol/app-error.ts';
import { refusal } from '../protocol/parse.ts';
import { hashToken, mintToken } from '../protocol/token.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Secret } from '../runtime/secret.ts';
import { AccessRefusedError } from './access-refused.ts';
import { isEverything } from './store/administrators.ts';
import type { AdminIdentity } from './store/admin-tokens.ts';
import { appendAudit } from './store/audit.ts';
import type { AuditKind } from './store/audit-kinds.ts';
import type { Store } from './store/open-store.ts';
import { DEFAULT_ORGANIZATION, ensureOrganization, findOrganizationNamed, PROJECTIONS } from './store/organizations.ts';
import type { Database, OrganizationRow } from './store/schema.ts';

export interface OrganizationDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly randomBytes: (n: number) => Uint8Array;
}

/**
 * Makes an organization with a token of its first admin, which is shown this once.
 *
 * @throws AppError `forbidden` (not of an admin of `default`), `conflict` (the name is taken), `constraint_violated`
 */
export async function makeOrganization(
  deps: OrganizationDeps,
  admin: AdminIdentity,
  { name, adminName }: { readonly name: string; readonly adminName: string },
): Promise<{ readonly row: OrganizationRow; readonly adminToken: Secret }> {
  requireInstallationAdmin(admin, 'makes organizations');
  if (name === PROJECTIONS) {
    throw refusal([{ path: '/name', message: `${name} is where the Git host serves clusters; take another name` }]);
  }
  const adminToken = mintToken('svcadm', deps.randomBytes);
  const at = deps.clock.now().toISOString();
  const row = await deps.store.write(async (trx) => {
    if ((await findOrganizationNamed(trx, name)) !== undefined) {
      const message = `there is an organization ${name} already`;
      throw new AppError('conflict', message, { faults: [{ path: '/name', message: 'is taken' }] });
    }
    const made = await ensureOrganization(trx, name, deps);
    await trx
      .insertInto('admin_tokens')
      .values({
        token_hash: hashToken(adminToken.expose()),
        organization_id: made.id,
        name: adminName,
        roles: null,
        created_at: at,
        expires_at: null,
      })
      .execute();
    const summary = `organization ${name} made by ${admin.name} of ${admin.organization.name}, with the admin token ${adminName}`;
    await auditInBoth(trx, admin, made.id, { at, kind: 'OrganizationCreated', summary });
    return made;
  });
  return { row, adminToken };
}

/** Rows that are nobody's without the organization. Its audit entries stay. */
const OWNED = [
  'admin_tokens',
  'members',
  'saved_filters',
  'request_answers',
  'changes',
  'chart_versions',
  'operation_templates',
  'catalog_entries',
  'commit_signing_keys',
  'channel_messages',
  'channel_webhooks',
] as const;

/** What must be gone before, with how it is named. */
const IN_THE_WAY = [
  ['clusters', 'slug'],
  ['repositories', 'name'],
  ['intents', 'id'],
] as const;
const NAMED = 5;

/**
 * Deletes an organization that has nothing any more which runs, or is written down in Git.
 *
 * @throws AppError `forbidden`, `not_found`, `conflict` (it is `default`, or what it has)
 */
export async function deleteOrganization(deps: OrganizationDeps, admin: AdminIdentity, name: string): Promise<void> {
  requireInstallationAdmin(admin, 'deletes organizations');
  if (name === DEFAULT_ORGANIZATION) {
    throw new AppError('conflict', `the organization ${name} is the one whose admins make the others; it stays`);
  }
  await deps.store.write(async (trx) => {
    const row = await findOrganizationNamed(trx, name);
    if (row === undefined) throw new AppError('not_found', `there is no organization ${name}`);
    const inTheWay = await whatIsInTheWay(trx, row.id);
    if (inTheWay.length > 0) {
      throw new AppError('conflict', `the organization ${name} has ${inTheWay.join('; ')}: delete them first`);
    }
    await trx
      .deleteFrom('channel_outbox')
      .where('webhook_id', 'in', (eb) =>
        eb.selectFrom('channel_webhooks').select('channel_webhooks.id').where('organization_id', '=', row.id),
      )
      .execute();
    for (const table of OWNED) await trx.deleteFrom(table).where('organization_id', '=', row.id).execute();
    await trx.deleteFrom('organizations').where('id', '=', row.id).execute();
    const summary = `organization ${name} (${row.id}) deleted with its members, tokens, catalog, templates and channel`;
    const at = deps.clock.now().toISOString();
    await auditInBoth(trx, admin, row.id, { at, kind: 'OrganizationDeleted', summary });
  });
}

/** @throws AccessRefusedError */
export function requireInstallationAdmin({ organization, scopes, name }: AdminIdentity, does: string): void {
  if (organization.name === DEFAULT_ORGANIZATION && isEverything(scopes)) return;
  throw new AccessRefusedError(
    `only an admin of the organization ${DEFAULT_ORGANIZATION} ${does}, and ${name} is not one`,
  );
}

/** In words, a part for each kind. */
async function whatIsInTheWay(trx: Kysely<Database>, organizationId: string): Promise<string[]> {
  const parts: string[] = [];
  for (const [table, column] of IN_THE_WAY) {
    const rows = await trx
      .selectFrom(table)
      .select((eb) => eb.ref(column as never).as('named'))
      .where('organization_id', '=', organizationId)
      .limit(NAMED + 1)
      .execute();
    const names = rows.slice(0, NAMED).map(({ named }) => String(named));
    if (names.length > 0) parts.push(`${table} ${names.join(', ')}${rows.length > NAMED ? ' and more' : ''}`);
  }
  return parts;
}

/** In the audit of the caller's organization and in that of the other. */
export async function auditInBoth(
  trx: Kysely<Database>,
  { name, organization }: AdminIdentity,
  otherId: string,
  entry: { readonly at: string; readonly kind: AuditKind; readonly summary: string },
): Promise<void> {
  await appendAudit(trx, { ...entry, organizationId: organization.id, source: 'user', actor: name });
  // There the name alone would be somebody else's.
  const actor = `${name} (${organization.name})`;
  await appendAudit(trx, { ...entry, organizationId: otherId, source: 'user', actor });
}
