import { Type, type Static } from 'typebox';
import { ACCESS_ROLES, SCOPES, type AccessRole, type Scope } from '../../access.ts';
import type { Choice } from '../../oidc/choose-organization.ts';
import { answerOf, answers, listOf, oneOf, Time } from '../openapi/answers.ts';
import type { HttpServer } from '../server.ts';
import { adminOf } from './authenticate.ts';

const NamedOrganization = answerOf('NamedOrganizationAnswer', { id: Type.String(), name: Type.String() });

const MeAnswer = answerOf('MeAnswer', {
  name: Type.String({ description: 'the actor in audit log and commits' }),
  displayName: Type.Optional(Type.String()),
  member: Type.Boolean({ description: 'false: a token of its own' }),
  organization: Type.Optional(NamedOrganization),
  organizations: listOf(NamedOrganization),
  access: listOf(oneOf(Object.keys(ACCESS_ROLES) as AccessRole[])),
  roles: listOf(Type.String({ description: 'what the caller may approve as' })),
  scopes: listOf(oneOf(Object.keys(SCOPES) as Scope[])),
  tokenExpiresAt: Type.Optional(Time),
  via: oneOf(['token', 'oidc']),
});

const schema = {
  tags: ['members'],
  operationId: 'getMe',
  summary: 'Who calls, where, and what he or she may do; without an organization, it has to be chosen',
  response: answers({ 200: MeAnswer }),
};

/** The answer to `GET /me` while an organization has to be chosen: who may come in, and where. Nothing can be done yet. */
export function meToChoose({ who, organizations, expiresAt }: Choice): Static<typeof MeAnswer> {
  const may = { access: [], roles: [], scopes: [] };
  return { name: who, member: true, organizations: [...organizations], ...may, tokenExpiresAt: expiresAt, via: 'oidc' };
}

/** `GET /me`. */
export function meRoute(app: HttpServer): void {
  app.get('/me', { schema }, async (request, reply) => {
    const me = adminOf(request);
    return await reply.send({
      name: me.name,
      ...(me.displayName === undefined ? {} : { displayName: me.displayName }),
      member: me.member !== undefined,
      organization: me.organization,
      organizations: me.organizations,
      access: me.access,
      roles: me.roles,
      scopes: [...me.scopes],
      ...(me.expiresAt === undefined ? {} : { tokenExpiresAt: me.expiresAt }),
      via: me.via,
    });
  });
}
