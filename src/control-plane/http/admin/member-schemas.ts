import { Type, type Static } from 'typebox';
import { ACCESS_ROLES, SCOPES, type AccessRole, type Scope } from '../../access.ts';
import { RoleName } from '../../git/git-settings.ts';
import { accessOf } from '../../store/members.ts';
import type { MemberRow } from '../../store/people-rows.ts';
import { answerOf, listOf, oneOf, pageOf, Time } from '../openapi/answers.ts';
import { ifKnown } from './cluster-view.ts';

/** The actor in audit log and commits. One person, one name: who has two counts twice where approvals are counted. */
export const PersonName = Type.String({
  pattern: '^[a-z0-9]([a-z0-9._@-]{0,98}[a-z0-9])?$',
  description:
    "lower-case letters, digits, '.', '_', '@' and '-', at most 100, starting and ending with a letter or digit",
});

export const AccessRoleName = oneOf(Object.keys(ACCESS_ROLES) as AccessRole[]);
export const ScopeName = oneOf(Object.keys(SCOPES) as Scope[]);
export const AccessList = Type.Array(AccessRoleName, { minItems: 1, maxItems: 4 });
export const RoleList = Type.Array(RoleName, { maxItems: 20 });
export const ScopeList = Type.Array(ScopeName, { minItems: 1, maxItems: 7 });

const DisplayName = Type.String({
  pattern: '^[^\\u0000-\\u001f\\u007f-\\u009f\\u200e\\u200f\\u2028\\u2029\\u202a-\\u202e\\u2066-\\u2069]{1,100}$',
  description: 'up to 100 characters, no control characters and none that turn text around',
});
const Email = Type.String({
  pattern: '^[!-?A-~]{1,64}@[!-?A-~]{1,189}$',
  description: 'an address such as anna@example.com',
});
const Subject = Type.Object(
  {
    issuer: Type.String({ pattern: '^https?://[!-~]{1,2000}$', description: 'the address of the identity provider' }),
    subject: Type.String({ pattern: '^[!-~]{1,255}$', description: 'the claim sub of its tokens' }),
  },
  { additionalProperties: false },
);

const GIVEN = { displayName: DisplayName, email: Email, oidc: Subject } as const;

export const CreateMember = Type.Object(
  {
    name: PersonName,
    access: AccessList,
    roles: Type.Optional(RoleList),
    displayName: Type.Optional(GIVEN.displayName),
    email: Type.Optional(GIVEN.email),
    oidc: Type.Optional(GIVEN.oidc),
  },
  { additionalProperties: false },
);
export type CreateMember = Static<typeof CreateMember>;

export const PatchMember = Type.Object(
  {
    access: Type.Optional(AccessList),
    roles: Type.Optional(RoleList),
    displayName: Type.Optional(Type.Union([GIVEN.displayName, Type.Null()])),
    email: Type.Optional(Type.Union([GIVEN.email, Type.Null()])),
    oidc: Type.Optional(Type.Union([GIVEN.oidc, Type.Null()])),
    disabled: Type.Optional(Type.Boolean()),
  },
  { additionalProperties: false },
);
export type PatchMember = Static<typeof PatchMember>;

export const MemberAnswer = answerOf('MemberAnswer', {
  name: Type.String(),
  displayName: Type.Optional(Type.String()),
  email: Type.Optional(Type.String()),
  access: listOf(AccessRoleName),
  roles: listOf(Type.String({ description: 'what the member may approve as' })),
  oidc: Type.Optional(answerOf('MemberSubjectAnswer', { issuer: Type.String(), subject: Type.String() })),
  disabledAt: Type.Optional(Time),
  lastSeenAt: Type.Optional(Time),
  createdAt: Time,
});
export const MemberPageAnswer = pageOf(MemberAnswer);

export function viewMember(row: MemberRow): Static<typeof MemberAnswer> {
  const { oidc_issuer: issuer, oidc_subject: subject } = row;
  return {
    name: row.name,
    ...ifKnown('displayName', row.display_name),
    ...ifKnown('email', row.email),
    access: accessOf(row),
    roles: JSON.parse(row.roles) as string[],
    ...(issuer === null || subject === null ? {} : { oidc: { issuer, subject } }),
    ...ifKnown('disabledAt', row.disabled_at),
    ...ifKnown('lastSeenAt', row.last_seen_at),
    createdAt: row.created_at,
  };
}

/** What of a member can be set, for its tag. */
export function editableOf(row: MemberRow): unknown {
  const { name, displayName, email, access, roles, oidc } = viewMember(row);
  const given = { name, displayName: displayName ?? null, email: email ?? null, oidc: oidc ?? null };
  return { ...given, access, roles, disabled: row.disabled_at !== null };
}
