import { Type } from 'typebox';
import { searchAll } from '../../store/search.ts';
import { SEARCH_KINDS } from '../../store/search-row.ts';
import { answers, oneOf } from '../openapi/answers.ts';
import type { HttpServer } from '../server.ts';
import type { AdminDeps } from './admin-deps.ts';
import { adminOf } from './authenticate.ts';
import { SearchAnswer } from './list-answers.ts';

const SearchQuery = Type.Object(
  {
    q: Type.Optional(
      Type.String({
        pattern: '^[^\\u0000-\\u001f\\u007f]{0,200}$',
        description: 'how a name, an id or a commit begins; namespace/name of an application; nothing finds nothing',
      }),
    ),
    kind: Type.Optional(oneOf(SEARCH_KINDS)),
    limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 50 })),
  },
  { additionalProperties: false },
);
const search = {
  tags: ['search'],
  operationId: 'search',
  summary: 'Finds whatever the organization has by how it begins, the best first',
  querystring: SearchQuery,
  response: answers({ 200: SearchAnswer }),
};

/** `GET /search`. */
export function searchRoute(app: HttpServer, { store }: Pick<AdminDeps, 'store'>): void {
  app.get('/search', { schema: search }, async (request, reply) => {
    const { organization } = adminOf(request);
    const { q = '', kind, limit = 50 } = request.query;
    const items = await searchAll(store.db, { organizationId: organization.id, text: q.trim(), kind, limit });
    return await reply.send({ items });
  });
}
