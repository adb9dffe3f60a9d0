import { mintToken } from '../protocol/token.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Secret } from '../runtime/secret.ts';
import { deleteAdminToken, putAdminToken } from './store/admin-tokens.ts';
import { hasAdministrator } from './store/administrators.ts';
import type { Store } from './store/open-store.ts';
import { DEFAULT_ORGANIZATION, ensureOrganization } from './store/organizations.ts';
import { deletePrivateFilters } from './store/saved-filters.ts';

/** Actor of the token in SERVICE_ADMIN_TOKEN. */
export const CONFIGURED_ADMIN = 'admin';
/** Actor of the token that the first start makes. */
export const FIRST_ADMIN = 'first-admin';
/** Actor of the token that an admin of `default` makes where an organization has lost all of its admins. */
export const RECOVERY_ADMIN = 'recovery-admin';

interface FirstStartDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly randomBytes: (n: number) => Uint8Array;
  readonly adminToken: Secret | undefined;
  /** The identity provider that people come in by; absent: none. */
  readonly issuer: string | undefined;
}

/** Makes the organization `default`, and lets the configured token count for as long as it is configured. */
export async function prepareFirstStart(deps: FirstStartDeps): Promise<void> {
  const { store, clock, adminToken } = deps;
  await store.write(async (trx) => {
    const { id: organizationId } = await ensureOrganization(trx, DEFAULT_ORGANIZATION, deps);
    if (adminToken === undefined) {
      await deleteAdminToken(trx, organizationId, CONFIGURED_ADMIN);
      await deletePrivateFilters(trx, organizationId, CONFIGURED_ADMIN);
    } else {
      const token = adminToken.expose();
      await putAdminToken(trx, { organizationId, name: CONFIGURED_ADMIN, token, now: clock.now() });
    }
  });
}

/**
 * Makes a token where nobody could administer the organization, so that somebody can come in. Called once nothing can keep the program from saying it:
 * a first start that failed, on a port that is taken say, would have used it up.
 *
 * @returns the token that was made; it is stored as a hash only, so this is the one time to show it
 */
export async function makeFirstAdmin(deps: FirstStartDeps): Promise<Secret | undefined> {
  const { store, clock, randomBytes, issuer } = deps;
  const made = mintToken('svcadm', randomBytes);
  return await store.write(async (trx) => {
    const { id: organizationId } = await ensureOrganization(trx, DEFAULT_ORGANIZATION, deps);
    if (await hasAdministrator(trx, organizationId, { now: clock.now(), issuer })) return undefined;
    await deletePrivateFilters(trx, organizationId, FIRST_ADMIN);
    await putAdminToken(trx, { organizationId, name: FIRST_ADMIN, token: made.expose(), now: clock.now() });
    return made;
  });
}
