import type { Kysely } from 'kysely';
import { AppError } from '../../protocol/app-error.ts';
import { appendAudit } from '../store/audit.ts';
import { membersOfSubject, type MemberOfOrganization } from '../store/members.ts';
import type { Store } from '../store/open-store.ts';
import type { Database } from '../store/schema.ts';
import { chooseMember } from './choose-organization.ts';
import type { OidcClaims } from './verify-token.ts';

/** Who came in, and where else he or she may go. */
export interface FoundMember {
  readonly member: MemberOfOrganization;
  readonly all: readonly MemberOfOrganization[];
}

/**
 * The member that a subject is, in the organization that is meant. A member of its address that nobody is bound to is bound
 * to it, the first time; from then on the subject counts and no address does, which may become somebody else's. One that is
 * bound in one organization is bound in another only by naming it: whoever administers that one cannot have it done.
 *
 * @throws AppError `forbidden`, saying what to tell an admin; ChooseOrganizationError
 */
export async function memberOf(
  { store }: { readonly store: Store },
  claims: OidcClaims,
  { wanted, now }: { readonly wanted: string | undefined; readonly now: Date },
): Promise<FoundMember> {
  const asked = { issuer: claims.issuer, subject: claims.subject, email: claims.email };
  const seen = among(await membersOfSubject(store.db, asked), claims, wanted);
  if (isBoundTo(seen.member, claims)) return seen;
  return await store.write(async (trx) => {
    const found = among(await membersOfSubject(trx, asked), claims, wanted);
    if (isBoundTo(found.member, claims)) return found;
    await bind(trx, found.member, claims, now);
    const member = {
      ...found.member,
      oidc_issuer: claims.issuer,
      oidc_subject: claims.subject,
      last_seen_at: null,
    };
    return { ...found, member };
  });
}

function among(found: readonly MemberOfOrganization[], claims: OidcClaims, wanted: string | undefined): FoundMember {
  const bound = found.filter((member) => isBoundTo(member, claims));
  const offered = bindable(found, claims);
  const all = found.filter((member) => offered.includes(member) || (bound.includes(member) && isEnabled(member)));
  const isNobodyYet = bound.length === 0 && all.length > 0;
  // Shut out where he or she belongs: an organization that only has the address is none to be sent to instead.
  const canCome = isNobodyYet || wanted !== undefined || bound.some(isEnabled);
  if (all.length === 0 || !canCome) throw new AppError('forbidden', refusal(claims, found, bound));
  return { member: chooseMember(all, claims, wanted), all };
}

function isEnabled({ disabled_at: at }: MemberOfOrganization): boolean {
  return at === null;
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
  { issuer, subject, emailAsSent = '' }: OidcClaims,
  now: Date,
): Promise<void> {
  const at = now.toISOString();
  const who = [member.organization_id, member.name] as const;
  await trx
    .updateTable('members')
    // What was seen of a subject before this one is not this one's.
    .set({ oidc_issuer: issuer, oidc_subject: subject, last_seen_at: null, updated_at: at })
    .where('organization_id', '=', who[0])
    .where('name', '=', who[1])
    .execute();
  await appendAudit(trx, {
    organizationId: member.organization_id,
    at,
    source: 'user',
    kind: 'MemberBound',
    actor: member.name,
    summary: `member ${member.name} is the subject ${subject} of ${issuer} from now on, which signed in with the address ${emailAsSent}`,
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
