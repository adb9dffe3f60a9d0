import { Type, type Static } from 'typebox';
import { createAdminToken, removeAdminToken } from '../../members/change-tokens.ts';
import { listAdminTokens } from '../../store/admin-tokens.ts';
import { accessOf, findMember, listMembers } from '../../store/members.ts';
import type { MemberRow } from '../../store/people-rows.ts';
import type { AdminTokenRow } from '../../store/schema.ts';
import type { Scope } from '../../access.ts';
import { answerOf, answers, listOf, NoAnswer, pageOf, Time } from '../openapi/answers.ts';
import type { HttpServer } from '../server.ts';
import type { AdminDeps } from './admin-deps.ts';
import { adminOf } from './authenticate.ts';
import { ifKnown } from './cluster-view.ts';
import { AccessList, AccessRoleName, PersonName, RoleList, ScopeList, ScopeName } from './member-schemas.ts';
import { answerPage, PageQuery, readPage } from './page.ts';

const TokenParams = Type.Object({ token: PersonName });

const CreateToken = Type.Object(
  {
    name: PersonName,
    roles: Type.Optional(RoleList),
    access: Type.Optional(AccessList),
    scopes: Type.Optional(ScopeList),
    member: Type.Optional(PersonName),
    expiresInSeconds: Type.Optional(Type.Integer({ minimum: 60, maximum: 10 * 365 * 86_400 })),
  },
  { additionalProperties: false },
);

const shown = {
  name: Type.String(),
  roles: listOf(Type.String({ description: 'what its bearer may approve as' })),
  access: listOf(AccessRoleName),
  scopes: Type.Optional(listOf(ScopeName)),
  member: Type.Optional(Type.String({ description: 'under whose name it acts' })),
  createdAt: Time,
  expiresAt: Type.Optional(Time),
  expired: Type.Boolean(),
  lastUsedAt: Type.Optional(Time),
};
const AdminTokenAnswer = answerOf('AdminTokenAnswer', shown);

const list = {
  tags: ['members'],
  operationId: 'listAdminTokens',
  summary: 'Tokens of the admin API, by name, without the tokens themselves',
  querystring: PageQuery,
  response: answers({ 200: pageOf(AdminTokenAnswer) }),
};
const create = {
  tags: ['members'],
  operationId: 'createAdminToken',
  summary: 'Makes a token of the admin API, which is shown this once',
  body: CreateToken,
  response: answers({
    201: answerOf('CreatedAdminTokenAnswer', {
      ...shown,
      token: Type.String({ description: 'shown this once' }),
    }),
  }),
};
const remove = {
  tags: ['members'],
  operationId: 'deleteAdminToken',
  summary: 'Ends a token at once',
  params: TokenParams,
  response: answers({ 204: NoAnswer }),
};

/** `GET`, `POST /admin-tokens`; `DELETE /admin-tokens/{name}`. A token is shown when it is made and never again. */
export function adminTokenRoutes(app: HttpServer, deps: AdminDeps): void {
  const { store, clock } = deps;
  const changes = { ...deps, issuer: deps.oidc?.config.issuer };

  app.get('/admin-tokens', { schema: list }, async (request, reply) => {
    const { organization } = adminOf(request);
    const page = readPage(request.query, 's');
    const after = page.after === undefined ? undefined : String(page.after[0]);
    const { items, ...rest } = await answerPage(
      page,
      async (limit) => await listAdminTokens(store.db, organization.id, { limit, after }),
      ({ name }) => [name],
      (row) => row,
    );
    const names = [...new Set(items.flatMap(({ member }) => member ?? []))];
    const members = new Map((await listMembers(store.db, organization.id, { names })).map((row) => [row.name, row]));
    const now = clock.now();
    return await reply.send({ items: items.map((row) => viewToken(row, members.get(row.member ?? ''), now)), ...rest });
  });

  app.post('/admin-tokens', { schema: create }, async (request, reply) => {
    const admin = adminOf(request);
    const { row, token } = await createAdminToken(changes, admin, request.body);
    const member = row.member == null ? undefined : await findMember(store.db, admin.organization.id, row.member);
    return await reply.code(201).send({ ...viewToken(row, member, clock.now()), token: token.expose() });
  });

  app.delete('/admin-tokens/:token', { schema: remove }, async (request, reply) => {
    await removeAdminToken(changes, adminOf(request), request.params.token);
    return await reply.code(204).send();
  });
}

function viewToken(row: AdminTokenRow, member: MemberRow | undefined, now: Date): Static<typeof AdminTokenAnswer> {
  return {
    name: row.name,
    roles: JSON.parse(member?.roles ?? row.roles ?? '[]') as string[],
    access: accessOf(row.access == null && member !== undefined ? member : row),
    ...(row.scopes == null ? {} : { scopes: JSON.parse(row.scopes) as Scope[] }),
    ...(row.member == null ? {} : { member: row.member }),
    createdAt: row.created_at,
    ...ifKnown('expiresAt', row.expires_at),
    expired: row.expires_at !== null && row.expires_at <= now.toISOString(),
    ...ifKnown('lastUsedAt', row.last_used_at ?? null),
  };
}
