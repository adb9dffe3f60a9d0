import { Type } from 'typebox';
import { rangeTest } from '../../catalog/chart-versions.ts';
import { listUpgrades, type InstanceUpgrade } from '../../catalog/upgrades.ts';
import { findChartVersions } from '../../store/chart-versions.ts';
import type { InstanceKey, InstancesOf } from '../../store/standing-instances.ts';
import { answers } from '../openapi/answers.ts';
import type { HttpServer } from '../server.ts';
import type { AdminDeps } from './admin-deps.ts';
import { adminOf } from './authenticate.ts';
import { EntryParams, requireEntry } from './catalog.ts';
import { ClusterParams, requireCluster } from './named-cluster.ts';
import { answerPage, PageQuery, readPage, type Page } from './page.ts';
import { ChartVersionsAnswer, UpgradePageAnswer } from './catalog-answers.ts';

const VersionsQuery = Type.Object({ refresh: Type.Optional(Type.Boolean()) }, { additionalProperties: false });

const versions = {
  tags: ['catalog'],
  operationId: 'listChartVersions',
  summary: 'What is known of the versions of a chart; with refresh it is read anew',
  params: EntryParams,
  querystring: VersionsQuery,
  response: answers({ 200: ChartVersionsAnswer }),
};
const ofEntry = {
  tags: ['catalog'],
  operationId: 'listUpgradesOfEntry',
  summary: 'Instances of an entry, and whether a newer version is allowed',
  params: EntryParams,
  querystring: PageQuery,
  response: answers({ 200: UpgradePageAnswer }),
};
const ofCluster = {
  tags: ['catalog'],
  operationId: 'listUpgradesOfCluster',
  summary: 'Instances in a cluster, and whether a newer version is allowed',
  params: ClusterParams,
  querystring: PageQuery,
  response: answers({ 200: UpgradePageAnswer }),
};

/** `GET /catalog/{name}/versions`, `GET /catalog/{name}/upgrades`, `GET /clusters/{id}/upgrades`. */
export function catalogVersionRoutes(app: HttpServer, deps: AdminDeps): void {
  const { store, catalogRefresh } = deps;

  app.get('/catalog/:name/versions', { schema: versions }, async (request, reply) => {
    const { organization } = adminOf(request);
    const { name } = request.params;
    await requireEntry(store.db, organization.id, name);
    if (request.query.refresh === true) await catalogRefresh.refresh(organization.id, name, app.closing);
    const entry = await requireEntry(store.db, organization.id, name);
    const { etag: _etag, versions: found, ...known } = await findChartVersions(store.db, organization.id, entry);
    const isAllowed = rangeTest(entry.versions);
    return await reply.send({
      range: entry.versions,
      versions: found.map((one) => ({ ...one, isAllowed: isAllowed(one.version) })),
      ...known,
    });
  });

  app.get('/catalog/:name/upgrades', { schema: ofEntry }, async (request, reply) => {
    const { organization } = adminOf(request);
    const { name } = await requireEntry(store.db, organization.id, request.params.name);
    return await reply.send(await upgradesOf({ organizationId: organization.id, catalogEntry: name }, request.query));
  });

  app.get('/clusters/:cluster/upgrades', { schema: ofCluster }, async (request, reply) => {
    const { organization } = adminOf(request);
    const { id } = await requireCluster(store.db, organization.id, request.params.cluster);
    return await reply.send(await upgradesOf({ organizationId: organization.id, clusterId: id }, request.query));
  });

  async function upgradesOf(of: InstancesOf, query: PageQuery): Promise<Page<InstanceUpgrade>> {
    const page = readPage(query, 'sss');
    const after = page.after as InstanceKey | undefined;
    return await answerPage(
      page,
      async (limit) => await listUpgrades(store.db, of, { limit, after }),
      ({ cluster, namespace, name }) => [cluster.id, namespace, name],
      (instance) => instance,
    );
  }
}
