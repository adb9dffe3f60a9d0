import { AppError } from '../protocol/app-error.ts';
import { mintToken } from '../protocol/token.ts';
import type { Secret } from '../runtime/secret.ts';
import { RECOVERY_ADMIN } from './first-start.ts';
import { auditInBoth, requireInstallationAdmin, type OrganizationDeps } from './make-organization.ts';
import { putAdminToken, type AdminIdentity } from './store/admin-tokens.ts';
import { DEFAULT_ORGANIZATION, findOrganizationNamed, lockOrganization } from './store/organizations.ts';
import { deletePrivateFilters } from './store/saved-filters.ts';

/**
 * Lets somebody into an organization again whose administrators are all gone: a token that may do everything there, in place
 * of the one before that was made so. Written down in both organizations, since it opens one to the other's admins.
 *
 * @returns the token, which is stored as a hash only: this is the one time to show it
 * @throws AppError `forbidden` (not of an admin of `default`), `not_found`, `conflict` (it is `default`)
 */
export async function recoverAdministrator(
  deps: OrganizationDeps,
  admin: AdminIdentity,
  name: string,
): Promise<Secret> {
  requireInstallationAdmin(admin, 'makes admin tokens of other organizations');
  if (name === DEFAULT_ORGANIZATION) {
    throw new AppError('conflict', `tokens of ${name} are made with servicectl admin-tokens create`);
  }
  const made = mintToken('svcadm', deps.randomBytes);
  await deps.store.write(async (trx) => {
    const row = await findOrganizationNamed(trx, name);
    if (row === undefined) throw new AppError('not_found', `there is no organization ${name}`);
    await lockOrganization(trx, row.id);
    const now = deps.clock.now();
    await deletePrivateFilters(trx, row.id, RECOVERY_ADMIN);
    await putAdminToken(trx, { organizationId: row.id, name: RECOVERY_ADMIN, token: made.expose(), now });
    const summary = `admin token ${RECOVERY_ADMIN} of organization ${name} made by ${admin.name} of ${admin.organization.name}; the one before it, if any, no longer counts`;
    await auditInBoth(trx, admin, row.id, { at: now.toISOString(), kind: 'AdminTokenRecovered', summary });
  });
  return made;
}
