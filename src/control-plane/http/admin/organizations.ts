import { Type, type Static } from 'typebox';
import { AppError } from '../../../protocol/app-error.ts';
import { deleteOrganization, makeOrganization } from '../../make-organization.ts';
import { recoverAdministrator } from '../../recover-administrator.ts';
import { isEverything } from '../../store/administrators.ts';
import type { SignedIn } from '../../store/admin-tokens.ts';
import { DEFAULT_ORGANIZATION, listOrganizations } from '../../store/organizations.ts';
import type { OrganizationRow } from '../../store/schema.ts';
import { answerOf, answers, NoAnswer, pageOf, Time } from '../openapi/answers.ts';
import type { HttpServer } from '../server.ts';
import type { AdminDeps } from './admin-deps.ts';
import { adminOf } from './authenticate.ts';
import { PersonName } from './member-schemas.ts';
import { answerPage, PageQuery, readPage } from './page.ts';

const OrganizationName = Type.String({
  pattern: '^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$',
  description: "lower-case letters, digits and '-', at most 63, starting and ending with a letter or digit",
});
const OrganizationParams = Type.Object({ organization: OrganizationName });
const CreateOrganization = Type.Object(
  { name: OrganizationName, adminName: PersonName },
  { additionalProperties: false },
);

const ListedOrganizationAnswer = answerOf('ListedOrganizationAnswer', {
  id: Type.String(),
  name: Type.String(),
  createdAt: Time,
});

const AdminToken = Type.String({ description: 'shown this once' });

const list = {
  tags: ['organization'],
  operationId: 'listOrganizations',
  summary: "The caller's organizations, by name; all of them for an admin of the organization default",
  querystring: PageQuery,
  response: answers({ 200: pageOf(ListedOrganizationAnswer) }),
};
const create = {
  tags: ['organization'],
  operationId: 'createOrganization',
  summary: 'Makes an organization and a token of its first admin, which is shown this once',
  body: CreateOrganization,
  response: answers({
    201: answerOf('CreatedOrganizationAnswer', {
      organization: ListedOrganizationAnswer,
      adminToken: AdminToken,
    }),
  }),
};
const show = {
  tags: ['organization'],
  operationId: 'getNamedOrganization',
  summary: 'One organization',
  params: OrganizationParams,
  response: answers({ 200: ListedOrganizationAnswer }),
};
const recover = {
  tags: ['organization'],
  operationId: 'recoverOrganization',
  summary: 'Makes an admin token of an organization that lost its admins, shown this once; for admins of default',
  params: OrganizationParams,
  response: answers({ 201: answerOf('RecoveredOrganizationAnswer', { adminToken: AdminToken }) }),
};
const remove = {
  tags: ['organization'],
  operationId: 'deleteOrganization',
  summary: 'Deletes an organization that has no clusters, repositories or intents any more',
  params: OrganizationParams,
  response: answers({ 204: NoAnswer }),
};

/** `GET`, `POST /organizations`; `GET`, `DELETE /organizations/{name}`; `POST /organizations/{name}/admin-token`. */
export function organizationsRoutes(app: HttpServer, deps: AdminDeps): void {
  const { store } = deps;

  app.get('/organizations', { schema: list }, async (request, reply) => {
    const seen = seenBy(adminOf(request));
    const page = readPage(request.query, 's');
    const after = page.after === undefined ? undefined : String(page.after[0]);
    return await reply.send(
      await answerPage(
        page,
        async (limit) => await listOrganizations(store.db, { ids: seen, after, limit }),
        ({ name }) => [name],
        view,
      ),
    );
  });

  app.post('/organizations', { schema: create }, async (request, reply) => {
    const { row, adminToken } = await makeOrganization(deps, adminOf(request), request.body);
    return await reply.code(201).send({ organization: view(row), adminToken: adminToken.expose() });
  });

  app.post('/organizations/:organization/admin-token', { schema: recover }, async (request, reply) => {
    const adminToken = await recoverAdministrator(deps, adminOf(request), request.params.organization);
    return await reply.code(201).send({ adminToken: adminToken.expose() });
  });

  app.get('/organizations/:organization', { schema: show }, async (request, reply) => {
    const { organization: name } = request.params;
    const [row] = await listOrganizations(store.db, { ids: seenBy(adminOf(request)), name, limit: 1 });
    if (row === undefined) throw new AppError('not_found', `there is no organization ${name}`);
    return await reply.send(view(row));
  });

  app.delete('/organizations/:organization', { schema: remove }, async (request, reply) => {
    await deleteOrganization(deps, adminOf(request), request.params.organization);
    return await reply.code(204).send();
  });
}

/** Ids of those that somebody may know of; undefined: all. */
function seenBy({ organization, scopes, organizations }: SignedIn): readonly string[] | undefined {
  if (organization.name === DEFAULT_ORGANIZATION && isEverything(scopes)) return undefined;
  return organizations.map(({ id }) => id);
}

function view(row: OrganizationRow): Static<typeof ListedOrganizationAnswer> {
  return { id: row.id, name: row.name, createdAt: row.created_at };
}
