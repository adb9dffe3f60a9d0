import { Type } from 'typebox';
import { listIntents, listJobs, listOperationsOf, type IntentFilter, type TimeKey } from '../../store/work-lists.ts';
import { JOB_STATES } from '../../store/job-rows.ts';
import { answerOf, answers, oneOf, pageOf } from '../openapi/answers.ts';
import type { HttpServer } from '../server.ts';
import type { AdminDeps } from './admin-deps.ts';
import { approvalSummaries } from './approvals.ts';
import { adminOf } from './authenticate.ts';
import { answerHeavyPage } from './heavy-page.ts';
import { viewIntent } from './intents.ts';
import { JobAnswer, viewJob } from './jobs.ts';
import { IntentAnswer, IntentState } from './intent-answers.ts';
import { requireCluster } from './named-cluster.ts';
import { OperationPageAnswer } from './operation-answers.ts';
import { viewOperation } from './operations.ts';
import { answerPage, PageQuery, readPage, type PageKey } from './page.ts';

const Name = Type.String({ minLength: 1, maxLength: 253 });
const ofCluster = {
  ...PageQuery.properties,
  cluster: Type.Optional(Type.String({ minLength: 1, maxLength: 64, description: 'id or slug of a cluster' })),
};
const filters = {
  ...ofCluster,
  state: Type.Optional(IntentState),
  requestedBy: Type.Optional(Name),
  namespace: Type.Optional(Name),
  name: Type.Optional(Name),
  since: Type.Optional(Type.String({ format: 'date-time', description: 'asked for then or later' })),
};
const IntentsQuery = Type.Object(
  { ...filters, action: Type.Optional(oneOf(['install', 'update', 'uninstall', 'operate'])) },
  { additionalProperties: false },
);
const OperationsQuery = Type.Object({ ...filters, template: Type.Optional(Name) }, { additionalProperties: false });
const JobsQuery = Type.Object(
  { ...ofCluster, state: Type.Optional(oneOf(JOB_STATES)) },
  { additionalProperties: false },
);
export const ListedIntentAnswer = answerOf('ListedIntentAnswer', {
  ...IntentAnswer.properties,
  clusterSlug: Type.String(),
});
export const ListedJobAnswer = answerOf('ListedJobAnswer', { ...JobAnswer.properties, clusterSlug: Type.String() });

const intents = {
  tags: ['intents'],
  operationId: 'listIntents',
  summary: 'Intents of the organization, the newest first',
  querystring: IntentsQuery,
  response: answers({ 200: pageOf(ListedIntentAnswer) }),
};
const operations = {
  tags: ['operations'],
  operationId: 'listOperations',
  summary: 'Operations of the organization, the newest first',
  querystring: OperationsQuery,
  response: answers({ 200: OperationPageAnswer }),
};
const jobs = {
  tags: ['jobs'],
  operationId: 'listJobs',
  summary: 'Jobs of the organization, the newest first',
  querystring: JobsQuery,
  response: answers({ 200: pageOf(ListedJobAnswer) }),
};

/** `GET /intents`, `GET /operations`, `GET /jobs`: of the whole organization. */
export function workListRoutes(app: HttpServer, { store, clock }: Pick<AdminDeps, 'store' | 'clock'>): void {
  app.get('/intents', { schema: intents }, async (request, reply) => {
    const filter = await readFilter(adminOf(request).organization.id, request.query);
    const { action } = request.query;
    const answer = await answerHeavyPage(
      readPage(request.query, 'ss', 'intents'),
      async (limit, after) => {
        const found = await listIntents(store.db, { ...filter, action }, { limit, before: keyOf(after) });
        const ids = found.map(({ intent }) => intent.id);
        const approvals = await approvalSummaries(store.db, ids, clock);
        return found.map((one) => ({ ...one, approval: approvals.get(one.intent.id) }));
      },
      ({ intent }) => [intent.accepted_at, intent.id, 'intents'],
      ({ intent }) => intent.record.length,
      (one) => ({ ...viewIntent(one), clusterSlug: one.slug }),
    );
    return await reply.send(answer);
  });

  app.get('/operations', { schema: operations }, async (request, reply) => {
    const filter = await readFilter(adminOf(request).organization.id, request.query);
    const { template } = request.query;
    const answer = await answerHeavyPage(
      readPage(request.query, 'ss', 'operations'),
      async (limit, after) =>
        await listOperationsOf(store.db, { ...filter, template }, { limit, before: keyOf(after) }),
      ({ intent }) => [intent.accepted_at, intent.id, 'operations'],
      ({ intent }) => intent.record.length,
      viewOperation,
    );
    return await reply.send(answer);
  });

  app.get('/jobs', { schema: jobs }, async (request, reply) => {
    const { id: organizationId } = adminOf(request).organization;
    const { cluster, state } = request.query;
    const clusterId = await idOf(organizationId, cluster);
    const page = readPage(request.query, 'ss', 'jobs');
    const answer = await answerPage(
      page,
      async (limit) =>
        await listJobs(store.db, { organizationId, clusterId, state }, { limit, before: keyOf(page.after) }),
      (job) => [job.created_at, job.id, 'jobs'],
      (job) => ({ ...viewJob(job), clusterSlug: job.slug }),
    );
    return await reply.send(answer);
  });

  async function readFilter(
    organizationId: string,
    query: Omit<IntentFilter, 'organizationId' | 'clusterId' | 'action'> & { readonly cluster?: string },
  ): Promise<IntentFilter> {
    const { cluster, state, requestedBy, namespace, name, since } = query;
    const clusterId = await idOf(organizationId, cluster);
    // As it is stored, which sorts as text.
    const from = since === undefined ? undefined : new Date(since).toISOString();
    return { organizationId, clusterId, state, requestedBy, namespace, name, since: from };
  }

  async function idOf(organizationId: string, cluster: string | undefined): Promise<string | undefined> {
    return cluster === undefined ? undefined : (await requireCluster(store.db, organizationId, cluster)).id;
  }
}

function keyOf(after: PageKey | undefined): TimeKey | undefined {
  return after === undefined ? undefined : [String(after[0]), String(after[1])];
}
