import { Type, type Static } from 'typebox';
import { AppError } from '../../../protocol/app-error.ts';
import { EntryName } from '../../../protocol/names.ts';
import { AccessRefusedError } from '../../access-refused.ts';
import { appendAudit } from '../../store/audit.ts';
import { noteChange } from '../../store/changes.ts';
import {
  countSavedFilters,
  deleteSavedFilter,
  findSavedFilter,
  listSavedFilters,
  putSavedFilter,
  SAVED_LISTS,
  type SavedFilterKey,
} from '../../store/saved-filters.ts';
import type { SavedFilterRow } from '../../store/schema.ts';
import { answers, NoAnswer, oneOf } from '../openapi/answers.ts';
import type { HttpServer } from '../server.ts';
import type { AdminDeps } from './admin-deps.ts';
import { adminOf } from './authenticate.ts';
import { NotModified, requireMatch, sendTagged } from './entity-tag.ts';
import { SavedFilterAnswer, SavedFilterPageAnswer } from './list-answers.ts';
import { answerPage, PageQuery, readPage } from './page.ts';

/** Of one person. */
const MAX_FILTERS = 100;

const Params = Type.Object({ name: EntryName });
const List = Type.Optional(oneOf(SAVED_LISTS));
const ListQuery = Type.Object({ ...PageQuery.properties, list: List }, { additionalProperties: false });
const PutFilter = Type.Object(
  {
    list: oneOf(SAVED_LISTS),
    query: Type.String({
      pattern: '^[!-~]{0,2000}$',
      description: 'as it stands in the address, percent-encoded: label=env%3Dprod&health=degraded',
    }),
    shared: Type.Optional(Type.Boolean({ description: 'whether the whole organization sees it; default false' })),
  },
  { additionalProperties: false },
);

const tags = ['saved-filters'];
const list = {
  tags,
  operationId: 'listSavedFilters',
  summary: "One's own saved filters and those that others share",
  querystring: ListQuery,
  response: answers({ 200: SavedFilterPageAnswer }),
};
const show = {
  tags,
  operationId: 'getSavedFilter',
  summary: 'A saved filter: the own one of that name, else one that is shared',
  params: Params,
  response: answers({ 200: SavedFilterAnswer, 304: NotModified }),
};
const put = {
  tags,
  operationId: 'putSavedFilter',
  summary: 'Keeps the query of a list under a name',
  params: Params,
  body: PutFilter,
  response: answers({ 200: SavedFilterAnswer }),
};
const remove = {
  tags,
  operationId: 'deleteSavedFilter',
  summary: 'Deletes a saved filter; those of others only with the scope organization',
  params: Params,
  response: answers({ 204: NoAnswer }),
};

/** `GET /saved-filters`; `GET`, `PUT`, `DELETE /saved-filters/{name}`. */
export function savedFilterRoutes(app: HttpServer, { store, clock }: Pick<AdminDeps, 'store' | 'clock'>): void {
  app.get('/saved-filters', { schema: list }, async (request, reply) => {
    const { organization, name: owner } = adminOf(request);
    const page = readPage(request.query, 'ss', 'saved-filters');
    const after = page.after as SavedFilterKey | undefined;
    const answer = await answerPage(
      page,
      async (limit) =>
        await listSavedFilters(
          store.db,
          { organizationId: organization.id, owner },
          { limit, after, list: request.query.list },
        ),
      (row) => [row.name, row.owner, 'saved-filters'],
      viewFilter,
    );
    return await reply.send(answer);
  });

  app.get('/saved-filters/:name', { schema: show }, async (request, reply) => {
    const { organization, name: owner } = adminOf(request);
    const { name } = request.params;
    const found = await findSavedFilter(store.db, { organizationId: organization.id, owner }, name);
    if (found === undefined) throw new AppError('not_found', `there is no saved filter ${name}`);
    return await sendTagged(request, reply, { editable: editableOf(found), answer: viewFilter(found) });
  });

  app.put('/saved-filters/:name', { schema: put }, async (request, reply) => {
    const { organization, name: owner } = adminOf(request);
    const { name } = request.params;
    const { list: ofList, query, shared = false } = request.body;
    const whose = { organizationId: organization.id, owner };
    const row = await store.write(async (trx) => {
      const at = clock.now().toISOString();
      const before = await findSavedFilter(trx, whose, name);
      const own = before?.owner === owner ? before : undefined;
      requireMatch(request, own && editableOf(own), `saved filter ${name}`);
      if (own === undefined && (await countSavedFilters(trx, whose)) >= MAX_FILTERS) {
        throw new AppError('conflict', `you have ${MAX_FILTERS} saved filters already; delete one first`);
      }
      const changed: SavedFilterRow = {
        organization_id: organization.id,
        owner,
        name,
        list: ofList,
        query,
        shared: shared ? 1 : 0,
        created_at: own?.created_at ?? at,
        updated_at: at,
      };
      if (own?.list === ofList && own.query === query && own.shared === changed.shared) return own;
      await putSavedFilter(trx, changed);
      noteChange(trx, { organizationId: organization.id, resource: 'saved-filters', id: name });
      await appendAudit(trx, {
        organizationId: organization.id,
        at,
        source: 'user',
        kind: 'SavedFilterUpdated',
        actor: owner,
        summary: `saved filter ${name} of the list ${ofList}${shared ? ', shared with the organization' : ''}: ${query}`,
      });
      return changed;
    });
    return await sendTagged(request, reply, { editable: editableOf(row), answer: viewFilter(row) });
  });

  app.delete('/saved-filters/:name', { schema: remove }, async (request, reply) => {
    const { organization, name: actor, scopes } = adminOf(request);
    const { name } = request.params;
    await store.write(async (trx) => {
      const found = await findSavedFilter(trx, { organizationId: organization.id, owner: actor }, name);
      if (found === undefined) throw new AppError('not_found', `there is no saved filter ${name}`);
      if (found.owner !== actor && !scopes.has('organization')) {
        throw new AccessRefusedError(
          `the saved filter ${name} is ${found.owner}'s; its owner can delete it, or somebody with the scope organization`,
        );
      }
      requireMatch(request, editableOf(found), `saved filter ${name}`);
      await deleteSavedFilter(trx, { organizationId: organization.id, owner: found.owner }, name);
      noteChange(trx, { organizationId: organization.id, resource: 'saved-filters', id: name });
      await appendAudit(trx, {
        organizationId: organization.id,
        at: clock.now().toISOString(),
        source: 'user',
        kind: 'SavedFilterDeleted',
        actor,
        summary: `saved filter ${name} of ${found.owner} deleted`,
      });
    });
    return await reply.code(204).send();
  });
}

/** What can be edited of it: for its tag. */
function editableOf({ owner, list: ofList, query, shared }: SavedFilterRow): unknown {
  return { owner, list: ofList, query, shared };
}

function viewFilter(row: SavedFilterRow): Static<typeof SavedFilterAnswer> {
  return {
    name: row.name,
    list: row.list as (typeof SAVED_LISTS)[number],
    query: row.query,
    shared: row.shared === 1,
    owner: row.owner,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  };
}
