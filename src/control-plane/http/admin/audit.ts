import { Type } from 'typebox';
import { Timestamp, type ResourceRef } from '../../../protocol/condition.ts';
import { listAudit, type AuditFilter } from '../../store/audit-pages.ts';
import { answerOf, answers, oneOf, pageOf, Time } from '../openapi/answers.ts';
import type { HttpServer } from '../server.ts';
import type { AdminDeps } from './admin-deps.ts';
import { adminOf } from './authenticate.ts';
import { ifKnown } from './cluster-view.ts';
import { requireClusterId } from './named-cluster.ts';
import { answerPage, PageQuery, readPage } from './page.ts';

const AuditQuery = Type.Object(
  {
    ...PageQuery.properties,
    cluster: Type.Optional(Type.String({ minLength: 1, maxLength: 64, description: 'id or slug of a cluster' })),
    source: Type.Optional(Type.Unsafe<'agent' | 'user'>({ type: 'string', enum: ['agent', 'user'] })),
    kind: Type.Optional(Type.String({ minLength: 1, maxLength: 128 })),
    actor: Type.Optional(Type.String({ minLength: 1, maxLength: 128, description: 'who did it' })),
    intent: Type.Optional(Type.String({ minLength: 1, maxLength: 64, description: 'id of an intent' })),
    /** From then on, and before then. */
    since: Type.Optional(Timestamp),
    until: Type.Optional(Timestamp),
    q: Type.Optional(
      Type.String({ minLength: 1, maxLength: 128, description: 'part of what is said, whatever its case' }),
    ),
    resource: Type.Optional(
      Type.String({
        maxLength: 400,
        pattern: '^[^/]+/([^/]*/)?[^/]+$',
        description: 'what a report is about: kind/namespace/name, or kind/name in any namespace',
      }),
    ),
  },
  { additionalProperties: false },
);

const AuditAnswer = answerOf('AuditAnswer', {
  id: Type.Integer(),
  at: Time,
  source: oneOf(['agent', 'user']),
  kind: Type.String(),
  clusterId: Type.Optional(Type.String()),
  clusterSlug: Type.Optional(Type.String({ description: 'absent once the cluster is deleted' })),
  actor: Type.Optional(Type.String()),
  summary: Type.String(),
  reason: Type.Optional(Type.String()),
  resourceRef: Type.Optional(
    Type.Object({ kind: Type.String(), namespace: Type.Optional(Type.String()), name: Type.String() }),
  ),
  intentId: Type.Optional(Type.String()),
});

const list = {
  tags: ['audit'],
  operationId: 'listAudit',
  summary: 'Who did what, the newest first',
  querystring: AuditQuery,
  response: answers({ 200: pageOf(AuditAnswer) }),
};

/** `GET /audit?cluster=&source=&kind=&actor=&intent=&since=&until=&q=&resource=`, the newest first. */
export function auditRoutes(app: HttpServer, deps: AdminDeps): void {
  app.get('/audit', { schema: list }, async (request, reply) => {
    const { organization } = adminOf(request);
    const { cluster, source, kind, actor, intent: intentId, q: text } = request.query;
    const clusterId =
      cluster === undefined ? undefined : await requireClusterId(deps.store.db, organization.id, cluster);
    const page = readPage(request.query, 'n');
    const before = page.after === undefined ? undefined : Number(page.after[0]);
    const filter: AuditFilter = {
      organizationId: organization.id,
      clusterId,
      source,
      kind,
      actor,
      intentId,
      text,
      since: inUtc(request.query.since),
      until: inUtc(request.query.until),
      resource: readResource(request.query.resource),
    };
    const answer = await answerPage(
      page,
      async (limit) => await listAudit(deps.store.db, filter, { limit, before }),
      ({ id }) => [id],
      (row) => ({
        id: row.id,
        at: row.at,
        source: row.source,
        kind: row.kind,
        ...ifKnown('clusterId', row.cluster_id),
        ...ifKnown('clusterSlug', row.cluster_slug),
        ...ifKnown('actor', row.actor),
        // Addresses of charts were taken with credentials in them once, and told here.
        summary: row.summary.replace(/(:\/\/)[^/\s]*@/g, '$1'),
        ...ifKnown('reason', row.reason),
        ...(row.resource_ref === null ? {} : { resourceRef: refIn(row.resource_ref) }),
        ...ifKnown('intentId', row.intent_id),
      }),
    );
    return await reply.send(answer);
  });
}

/** As the database has it. */
function inUtc(time: string | undefined): string | undefined {
  return time === undefined ? undefined : new Date(time).toISOString();
}

function readResource(text: string | undefined): AuditFilter['resource'] {
  const [kind = '', ...rest] = text?.split('/') ?? [];
  const name = rest.pop();
  if (name === undefined) return undefined;
  const [namespace = ''] = rest;
  return { kind, ...(namespace === '' ? {} : { namespace }), name };
}

/** What a report is about, as people name it. */
function refIn(text: string): { readonly kind: string; readonly namespace?: string; readonly name: string } {
  const { kind, namespace, name } = JSON.parse(text) as ResourceRef;
  return { kind, ...(namespace === undefined ? {} : { namespace }), name };
}
