import { AppError } from '../../protocol/app-error.ts';
import type { MemberOfOrganization } from '../store/members.ts';
import type { OrganizationRow } from '../store/schema.ts';
import type { OidcClaims } from './verify-token.ts';

/** What somebody may choose from who is, or may be, a member of several organizations. */
export interface Choice {
  /** The address or the subject: in each organization he or she may have another name. */
  readonly who: string;
  readonly organizations: readonly Pick<OrganizationRow, 'id' | 'name'>[];
  /** Of the token. RFC 3339. */
  readonly expiresAt: string;
}

/** Nobody can say for somebody where a call is meant. `GET /me` answers it with what there is to choose from. */
export class ChooseOrganizationError extends AppError {
  readonly choice: Choice;

  constructor(members: readonly MemberOfOrganization[], claims: OidcClaims) {
    const names = members.map((one) => one.organization_name).join(', ');
    super(
      'forbidden',
      `you may be meant in several organizations: ${names}; say which one with the header Service-Organization (servicectl login --organization NAME)`,
    );
    this.choice = {
      who: claims.email ?? claims.subject,
      organizations: organizationsOf(members),
      expiresAt: claims.expiresAt,
    };
  }
}

export function organizationsOf(members: readonly MemberOfOrganization[]): Choice['organizations'] {
  return members.map((one) => ({ id: one.organization_id, name: one.organization_name }));
}

/**
 * Who is meant. Without a name that is the only one there is, else the only one as whom the person came in before: an
 * organization that he or she never chose changes nothing, whoever its admins add.
 *
 * @param members bound to the subject, or with its address and nobody's yet
 * @throws ChooseOrganizationError, AppError `forbidden` (not in the one that was named)
 */
export function chooseMember(
  members: readonly MemberOfOrganization[],
  claims: OidcClaims,
  wanted: string | undefined,
): MemberOfOrganization {
  if (wanted !== undefined) {
    const named = members.find((one) => one.organization_name === wanted);
    if (named !== undefined) return named;
    const names = members.map((one) => one.organization_name).join(', ');
    throw new AppError('forbidden', `you are no member of the organization ${wanted}, but of: ${names}`);
  }
  const [first, ...more] = members;
  if (first !== undefined && more.length === 0) return first;
  const [known, ...others] = members.filter((one) => one.oidc_subject !== null && one.last_seen_at !== null);
  if (known !== undefined && others.length === 0) return known;
  throw new ChooseOrganizationError(members, claims);
}
