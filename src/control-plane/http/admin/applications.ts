import type { Static } from 'typebox';
import { Type } from 'typebox';
import { AppError } from '../../../protocol/app-error.ts';
import { entryStates, isUpgrade } from '../../catalog/upgrades.ts';
import { APPLICATION_HEALTHS } from '../../store/application-row.ts';
import {
  conditionsOfApplication,
  findApplication,
  listApplications,
  type ApplicationFilter,
  type ApplicationKey,
  type StoredApplication,
} from '../../store/applications.ts';
import { answers, oneOf } from '../openapi/answers.ts';
import type { HttpServer } from '../server.ts';
import type { AdminDeps } from './admin-deps.ts';
import { adminOf } from './authenticate.ts';
import { conditionOf, ifKnown } from './cluster-view.ts';
import { IntentState } from './intent-answers.ts';
import { ApplicationPageAnswer, ShownApplicationAnswer, type ApplicationAnswer } from './list-answers.ts';
import { ClusterParams, requireCluster } from './named-cluster.ts';
import { answerPage, PageQuery, readPage } from './page.ts';

const Name = Type.String({ minLength: 1, maxLength: 253 });
const ofOneCluster = {
  ...PageQuery.properties,
  namespace: Type.Optional(Name),
  catalogEntry: Type.Optional(Name),
  state: Type.Optional(IntentState),
  health: Type.Optional(oneOf(APPLICATION_HEALTHS)),
  q: Type.Optional(Type.String({ minLength: 1, maxLength: 253, description: 'how its name begins' })),
};
const ClusterApplicationsQuery = Type.Object(ofOneCluster, { additionalProperties: false });
const ApplicationsQuery = Type.Object(
  { ...ofOneCluster, cluster: Type.Optional(Type.String({ minLength: 1, maxLength: 64, description: 'id or slug' })) },
  { additionalProperties: false },
);
type ApplicationsQuery = Static<typeof ApplicationsQuery>;
const ApplicationParams = Type.Object({ ...ClusterParams.properties, namespace: Name, name: Name });

const list = {
  tags: ['applications'],
  operationId: 'listApplications',
  summary: 'Applications of the organization, by cluster, namespace and name; by name with q',
  querystring: ApplicationsQuery,
  response: answers({ 200: ApplicationPageAnswer }),
};
const listOfCluster = {
  tags: ['applications'],
  operationId: 'listApplicationsOfCluster',
  summary: 'Applications of a cluster',
  params: ClusterParams,
  querystring: ClusterApplicationsQuery,
  response: answers({ 200: ApplicationPageAnswer }),
};
const show = {
  tags: ['applications'],
  operationId: 'getApplication',
  summary: 'One application with the conditions that its operator reported',
  params: ApplicationParams,
  response: answers({ 200: ShownApplicationAnswer }),
};

/** `GET /applications`, `/clusters/{id}/applications`, `/clusters/{id}/applications/{namespace}/{name}`. */
export function applicationRoutes(app: HttpServer, { store }: Pick<AdminDeps, 'store'>): void {
  app.get('/applications', { schema: list }, async (request, reply) => {
    const { organization } = adminOf(request);
    const { cluster } = request.query;
    const clusterId = cluster === undefined ? undefined : (await requireCluster(store.db, organization.id, cluster)).id;
    return await reply.send(await pageOfApplications({ organizationId: organization.id, clusterId }, request.query));
  });

  app.get('/clusters/:cluster/applications', { schema: listOfCluster }, async (request, reply) => {
    const { organization } = adminOf(request);
    const { id: clusterId } = await requireCluster(store.db, organization.id, request.params.cluster);
    return await reply.send(await pageOfApplications({ organizationId: organization.id, clusterId }, request.query));
  });

  app.get('/clusters/:cluster/applications/:namespace/:name', { schema: show }, async (request, reply) => {
    const { organization } = adminOf(request);
    const { cluster, namespace, name } = request.params;
    const { id, slug } = await requireCluster(store.db, organization.id, cluster);
    const key: ApplicationKey = [id, namespace, name];
    const found = await findApplication(store.db, key);
    if (found === undefined) {
      throw new AppError('not_found', `there is no application ${namespace}/${name} on cluster ${slug}`);
    }
    const [view] = await viewApplications(organization.id, [found]);
    const conditions = (await conditionsOfApplication(store.db, key)).map(conditionOf);
    return await reply.send({ ...view, conditions });
  });

  async function pageOfApplications(
    whose: Pick<ApplicationFilter, 'organizationId' | 'clusterId'>,
    query: Omit<ApplicationsQuery, 'cluster'>,
  ) {
    const { namespace, catalogEntry, state, health, q: prefix } = query;
    const filter: ApplicationFilter = { ...whose, namespace, catalogEntry, state, health, prefix };
    // Another order, so a cursor of the one is none of the other.
    const list = prefix === undefined ? 'applications' : 'applications by name';
    const page = readPage(query, 'sss', list);
    const after = page.after as ApplicationKey | undefined;
    const { items, ...rest } = await answerPage(
      page,
      async (limit) => await listApplications(store.db, filter, { limit, after }),
      (row) => [row.cluster_id, row.namespace, row.name, list],
      (row) => row,
    );
    return { items: await viewApplications(whose.organizationId, items), ...rest };
  }

  async function viewApplications(organizationId: string, rows: readonly StoredApplication[]) {
    const names = [...new Set(rows.flatMap(({ catalog_entry: entry }) => (entry === null ? [] : [entry])))];
    const entries = await entryStates(store.db, organizationId, names);
    return rows.map((row) => viewApplication(row, entries.get(row.catalog_entry ?? '')?.newestAllowed));
  }
}

function viewApplication(row: StoredApplication, newestAllowed: string | undefined): Static<typeof ApplicationAnswer> {
  const version = row.observed_version ?? row.version ?? undefined;
  return {
    clusterId: row.cluster_id,
    clusterSlug: row.slug,
    namespace: row.namespace,
    name: row.name,
    ...ifKnown('catalogEntry', row.catalog_entry),
    ...ifKnown('version', row.version),
    state: row.state,
    health: row.health === 'gone' ? 'progressing' : row.health,
    intentId: row.intent_id,
    generation: row.generation,
    action: row.action,
    ...ifKnown('reason', row.reason),
    requestedBy: row.requested_by,
    requestedAt: row.accepted_at,
    ...ifKnown('observedVersion', row.observed_version),
    ...(newestAllowed === undefined ? {} : { newestAllowed, isUpgradeAvailable: isUpgrade(newestAllowed, version) }),
  };
}
