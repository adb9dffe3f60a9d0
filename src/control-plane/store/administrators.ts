import type { Kysely } from 'kysely';
import { AppError } from '../../protocol/app-error.ts';
import { SCOPES, type Scope } from '../access.ts';
import { scopesOfToken } from './admin-tokens.ts';
import { memberScopes } from './members.ts';
import type { Database } from './schema.ts';

/** A token that ends sooner is nobody to leave an organization to: when it ends, there may be no other. */
const LASTING_MS = 86_400_000;

interface Looking {
  /** Whom it is to count as letting in: only a token that has not ended by then. */
  readonly now: Date;
  /** The identity provider that members come in by; absent: none. */
  readonly issuer: string | undefined;
}

/**
 * Whether somebody can come in who may do everything: by a token that counts, or as a member that the identity provider
 * signed in before. Another one may be let in by that one; without any, nobody.
 */
export async function hasAdministrator(
  db: Kysely<Database>,
  organizationId: string,
  { now, issuer }: Looking,
): Promise<boolean> {
  const members = await db
    .selectFrom('members')
    .select(['name', 'access', 'oidc_issuer'])
    .where('organization_id', '=', organizationId)
    .where('disabled_at', 'is', null)
    .execute();
  const able = new Map(members.filter((member) => isEverything(memberScopes(member))).map((one) => [one.name, one]));
  if (issuer !== undefined && [...able.values()].some((member) => member.oidc_issuer === issuer)) return true;
  const tokens = await db
    .selectFrom('admin_tokens')
    .select(['member', 'access', 'scopes'])
    .where('organization_id', '=', organizationId)
    .where((eb) => eb.or([eb('expires_at', 'is', null), eb('expires_at', '>', now.toISOString())]))
    .execute();
  return tokens.some((token) => {
    if (token.member == null) return isEverything(scopesOfToken(token, undefined));
    const member = able.get(token.member);
    return member !== undefined && isEverything(scopesOfToken(token, member));
  });
}

/**
 * Carries out what may take an administrator away. One is left who comes in today, and one who still does tomorrow: a member,
 * or a token without an end or with more than a day left. Where there was none before, there need not be one after. Of two at once the second sees what the first did, since both hold the
 * organization's row (`lockOrganization`).
 *
 * @throws AppError `conflict` when nobody could administer the organization any more
 */
export async function keepAdministrator<T>(
  trx: Kysely<Database>,
  organizationId: string,
  looking: Looking & { readonly what: string },
  act: () => Promise<T>,
): Promise<T> {
  const soon = { ...looking, now: new Date(looking.now.getTime() + LASTING_MS) };
  const areThere = async (): Promise<readonly [boolean, boolean]> => [
    await hasAdministrator(trx, organizationId, looking),
    await hasAdministrator(trx, organizationId, soon),
  ];
  const [wasNow, wasSoon] = await areThere();
  const done = await act();
  const [isNow, isSoon] = await areThere();
  if ((wasNow && !isNow) || (wasSoon && !isSoon)) {
    const message = `${looking.what} is the last one who can administer the organization: nobody could any more (a token with less than 24 hours left does not count). Let another one in first, with access admin`;
    throw new AppError('conflict', message);
  }
  return done;
}

/** Whether these are all scopes that there are. */
export function isEverything(scopes: ReadonlySet<Scope>): boolean {
  return scopes.size === Object.keys(SCOPES).length;
}
