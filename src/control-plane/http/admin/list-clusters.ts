import { Type } from 'typebox';
import { findClusters } from '../../store/cluster-lists.ts';
import { answers, oneOf, pageOf } from '../openapi/answers.ts';
import type { HttpServer } from '../server.ts';
import type { AdminDeps } from './admin-deps.ts';
import { adminOf } from './authenticate.ts';
import { ClusterPageAnswer } from './cluster-answer.ts';
import { CLUSTER_FILTERS, readClusterFilter } from './cluster-filters.ts';
import { clusterStandings, ClusterSummaryAnswer, viewSummary } from './cluster-summary.ts';
import { viewCluster } from './cluster-view.ts';
import { answerPage, PageQuery, readPage } from './page.ts';

const ClustersQuery = Type.Object(
  {
    ...PageQuery.properties,
    ...CLUSTER_FILTERS,
    sort: Type.Optional(oneOf(['slug'])),
    fields: Type.Optional(
      Type.Unsafe<'all' | 'summary'>({
        type: 'string',
        enum: ['all', 'summary'],
        description: 'summary: each cluster at a glance, which costs the same however many a page has',
      }),
    ),
  },
  { additionalProperties: false },
);
const list = {
  tags: ['clusters'],
  operationId: 'listClusters',
  summary: 'Clusters of the organization, by slug',
  querystring: ClustersQuery,
  response: answers({ 200: Type.Union([ClusterPageAnswer, pageOf(ClusterSummaryAnswer)]) }),
};

/** `GET /clusters`. */
export function listClustersRoute(app: HttpServer, deps: AdminDeps): void {
  const { db } = deps.store;
  app.get('/clusters', { schema: list }, async (request, reply) => {
    const { organization } = adminOf(request);
    const filter = readClusterFilter(organization.id, request.query);
    const page = readPage(request.query, 's');
    const after = page.after === undefined ? undefined : String(page.after[0]);
    const { items: rows, ...rest } = await answerPage(
      page,
      async (limit) => await findClusters(db, filter, { limit, after }),
      (row) => [row.slug],
      (row) => row,
    );
    const standingOf = await clusterStandings(db, rows);
    if (request.query.fields === 'summary') {
      const items = rows.map((row) => viewSummary(row, standingOf(row), deps.lastContact));
      return await reply.send({ items, ...rest });
    }
    const views = rows.map(async (row) => await viewCluster(deps, row, organization.name, standingOf(row)));
    return await reply.send({ items: await Promise.all(views), ...rest });
  });
}
