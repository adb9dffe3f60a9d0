import { mintToken } from '../protocol/token.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Secret } from '../runtime/secret.ts';
import { deleteAdminToken, hasAdminToken, putAdminToken } from './store/admin-tokens.ts';
import type { Store } from './store/open-store.ts';
import { DEFAULT_ORGANIZATION, ensureOrganization } from './store/organizations.ts';

/** Actor of the token in SERVICE_ADMIN_TOKEN. */
const CONFIGURED_ADMIN = 'admin';
/** Actor of the token that the first start makes. */
const FIRST_ADMIN = 'first-admin';

/**
 * Makes the organization `default` and sees to it that somebody can come in: with the configured token, which is good for
 * as long as it is configured, else with one that is made when there is none.
 *
 * @returns the token that was made; it is stored as a hash only, so this is the one time to show it
 */
export async function prepareFirstStart(deps: {
  readonly store: Store;
  readonly clock: Clock;
  readonly randomBytes: (n: number) => Uint8Array;
  readonly adminToken: Secret | undefined;
}): Promise<Secret | undefined> {
  const { store, clock, adminToken } = deps;
  const made = mintToken('svcadm', deps.randomBytes);
  return await store.write(async (trx) => {
    const { id: organizationId } = await ensureOrganization(trx, DEFAULT_ORGANIZATION, deps);
    const now = clock.now();
    if (adminToken !== undefined) {
      await putAdminToken(trx, { organizationId, name: CONFIGURED_ADMIN, token: adminToken.expose(), now });
      return undefined;
    }
    await deleteAdminToken(trx, organizationId, CONFIGURED_ADMIN);
    if (await hasAdminToken(trx, organizationId)) return undefined;
    await putAdminToken(trx, { organizationId, name: FIRST_ADMIN, token: made.expose(), now });
    return made;
  });
}
