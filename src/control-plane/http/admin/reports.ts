import { Type, type TObject } from 'typebox';
import { Condition, ResourceRef, Timestamp } from '../../../protocol/condition.ts';
import { EventSource } from '../../../protocol/event.ts';
import { listEvents } from '../../store/events.ts';
import { listResources, type ReportedResource, type ResourceKey } from '../../store/resource-pages.ts';
import { answerOf, answers, ConditionAnswer, listOf, pageOf, ResourceRefAnswer, Time } from '../openapi/answers.ts';
import type { HttpServer } from '../server.ts';
import type { AdminDeps } from './admin-deps.ts';
import { adminOf } from './authenticate.ts';
import { conditionOf, ifKnown } from './cluster-view.ts';
import { ClusterParams, requireCluster } from './named-cluster.ts';
import { answerPage, PageQuery, readPage } from './page.ts';

/** As it was received: a report may say more than the protocol asks for. */
const EventAnswer = answerOf('EventAnswer', {
  eventKey: Type.String(),
  kind: Type.String(),
  resourceRef: asReceived(ResourceRef),
  conditions: listOf(asReceived(Condition)),
  timestamp: Type.Optional(Timestamp),
  sequence: Type.Optional(Type.String()),
  source: Type.Optional(asReceived(EventSource)),
  receivedAt: Time,
});
const ResourceAnswer = answerOf('ResourceAnswer', {
  resourceRef: ResourceRefAnswer,
  conditions: listOf(ConditionAnswer),
  source: Type.Optional(asReceived(EventSource)),
  updatedAt: Time,
});

const events = {
  tags: ['reports'],
  operationId: 'listEvents',
  summary: 'What the operator of a cluster reported, as received, the newest first',
  params: ClusterParams,
  querystring: PageQuery,
  response: answers({ 200: pageOf(EventAnswer) }),
};
const conditions = {
  tags: ['reports'],
  operationId: 'listConditions',
  summary: 'What the reports of a cluster amount to, by resource',
  params: ClusterParams,
  querystring: PageQuery,
  response: answers({ 200: pageOf(ResourceAnswer) }),
};

/** `GET /clusters/{id}/events`: as received. `GET /clusters/{id}/conditions`: what they amount to, per resource. */
export function reportRoutes(app: HttpServer, deps: AdminDeps): void {
  app.get('/clusters/:cluster/events', { schema: events }, async (request, reply) => {
    const cluster = await requireCluster(deps.store.db, adminOf(request).organization.id, request.params.cluster);
    const page = readPage(request.query, 'n');
    const before = page.after === undefined ? {} : { before: Number(page.after[0]) };
    const answer = await answerPage(
      page,
      async (limit) => await listEvents(deps.store.db, cluster.id, { limit, ...before }),
      ({ seq }) => [seq],
      viewEvent,
    );
    return await reply.send(answer);
  });

  app.get('/clusters/:cluster/conditions', { schema: conditions }, async (request, reply) => {
    const cluster = await requireCluster(deps.store.db, adminOf(request).organization.id, request.params.cluster);
    const page = readPage(request.query, 'ssss');
    const after = page.after as ResourceKey | undefined;
    const answer = await answerPage(
      page,
      async (limit) => await listResources(deps.store.db, cluster.id, { limit, after }),
      ({ key }) => key,
      viewResource,
    );
    return await reply.send(answer);
  });
}

function asReceived<T extends TObject>(schema: T) {
  return Type.Object(schema.properties, { additionalProperties: true });
}

function viewEvent(row: Awaited<ReturnType<typeof listEvents>>[number]) {
  return {
    eventKey: row.event_key,
    kind: row.kind,
    resourceRef: JSON.parse(row.resource_ref) as unknown,
    conditions: JSON.parse(row.conditions) as unknown,
    ...ifKnown('timestamp', row.timestamp),
    ...ifKnown('sequence', row.sequence),
    ...ifKnown('source', row.source === null ? null : (JSON.parse(row.source) as EventSource)),
    receivedAt: row.received_at,
  };
}

function viewResource({ key: [kind, namespace, name, uid], conditions }: ReportedResource) {
  const latest = conditions.reduce((a, b) => (a.order_key > b.order_key ? a : b));
  return {
    resourceRef: {
      apiVersion: latest.api_version,
      kind,
      name,
      ...(namespace === '' ? {} : { namespace }),
      // Reported without its UID, a resource stands under its name.
      ...(uid.includes('/') ? {} : { uid }),
    },
    conditions: conditions.map(conditionOf),
    ...ifKnown('source', latest.source === null ? null : (JSON.parse(latest.source) as EventSource)),
    updatedAt: latest.updated_at,
  };
}
