import type { Kysely } from 'kysely';
import { AppError } from '../../protocol/app-error.ts';
import { appendAudit } from '../store/audit.ts';
import { membersOfSubject, type MemberOfOrganization } from '../store/members.ts';
import type { Store } from '../store/open-store.ts';
import type { Database } from '../store/schema.ts';
import type { OidcClaims } from './verify-token.ts';

/**
 * The members that a subject is, one an organization. A member of its address that nobody is bound to is bound to it, the
 * first time; from then on the subject counts and no address does, which may become somebody else's.
 *
 * @throws AppError `forbidden`, saying what to tell an admin
 */
export async function membersOf(
  { store }: { readonly store: Store },
  claims: OidcClaims,
  now: Date,
): Promise<readonly MemberOfOrganization[]> {
  const asked = { issuer: claims.issuer, subject: claims.subject, email: claims.email };
  let found = await membersOfSubject(store.db, asked);
  if (bindable(found, claims).length > 0) {
    found = await store.write(async (trx) => {
      for (const member of bindable(await membersOfSubject(trx, asked), claims)) await bind(trx, member, claims, now);
      return await membersOfSubject(trx, asked);
    });
  }
  const bound = found.filter((member) => isBoundTo(member, claims));
  const members = bound.filter(({ disabled_at: at }) => at === null);
  if (members.length === 0) throw new AppError('forbidden', refusal(claims, found, bound));
  return members;
}

function isBoundTo(member: MemberOfOrganization, { issuer, subject }: OidcClaims): boolean {
  return member.oidc_issuer === issuer && member.oidc_subject === subject;
}

/** Of those with the subject's address: who nobody is bound to, where the subject is nobody else yet. */
function bindable(found: readonly MemberOfOrganization[], claims: OidcClaims): MemberOfOrganization[] {
  const taken = new Set(
    found.filter((member) => isBoundTo(member, claims)).map(({ organization_id: organization }) => organization),
  );
  return found.filter(
    (member) =>
      member.oidc_subject === null &&
      member.disabled_at === null &&
      member.email === claims.email &&
      !taken.has(member.organization_id),
  );
}

async function bind(
  trx: Kysely<Database>,
  member: MemberOfOrganization,
  { issuer, subject, email = '' }: OidcClaims,
  now: Date,
): Promise<void> {
  const at = now.toISOString();
  const who = [member.organization_id, member.name] as const;
  await trx
    .updateTable('members')
    .set({ oidc_issuer: issuer, oidc_subject: subject, updated_at: at })
    .where('organization_id', '=', who[0])
    .where('name', '=', who[1])
    .execute();
  await appendAudit(trx, {
    organizationId: member.organization_id,
    at,
    source: 'user',
    kind: 'MemberBound',
    actor: member.name,
    summary: `member ${member.name} is the subject ${subject} of ${issuer} from now on, which signed in with the address ${email}`,
  });
}

function refusal(
  { issuer, subject, email, unverifiedEmail }: OidcClaims,
  found: readonly MemberOfOrganization[],
  bound: readonly MemberOfOrganization[],
): string {
  const [own] = bound.length > 0 ? bound : found;
  if (own?.disabled_at != null) return `member ${own.name} is disabled; ask an admin to enable it again`;
  if (own !== undefined) {
    return `${own.email ?? own.name} is the address of member ${own.name}, who is bound to another subject; if that is you, ask an admin to unbind it (servicectl members set ${own.name} --unbind)`;
  }
  if (email !== undefined) {
    return `no member has the address ${email}; tell it an admin, who can add you (servicectl members add NAME --email ${email})`;
  }
  const subjectText = `the subject ${subject} of ${issuer}`;
  if (unverifiedEmail === undefined) {
    return `no member is ${subjectText}, and the token says no address; tell the subject an admin, who can add you (servicectl members add NAME --subject ${subject})`;
  }
  return `no member is ${subjectText}, and the issuer does not vouch for the address ${unverifiedEmail} (email_verified); tell the subject an admin, who can add you (servicectl members add NAME --subject ${subject})`;
}
