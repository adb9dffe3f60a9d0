import { Type, type Static } from 'typebox';
import { CHANNEL_CATEGORIES, type ChannelCategory } from '../../../events/ingest/channel-reasons.ts';
import type { ResourceRef } from '../../../protocol/condition.ts';
import { listMessages, type StoredMessage } from '../../store/channel-messages.ts';
import { answerOf, answers, oneOf, pageOf, ResourceRefAnswer, Time } from '../openapi/answers.ts';
import type { HttpServer } from '../server.ts';
import type { AdminDeps } from './admin-deps.ts';
import { adminOf } from './authenticate.ts';
import { ifKnown } from './cluster-view.ts';
import { requireClusterId } from './named-cluster.ts';
import { answerPage, PageQuery, readPage } from './page.ts';

const ChannelQuery = Type.Object(
  {
    ...PageQuery.properties,
    cluster: Type.Optional(Type.String({ minLength: 1, maxLength: 64, description: 'id or slug of a cluster' })),
    category: Type.Optional(Type.Unsafe<ChannelCategory>({ type: 'string', enum: [...CHANNEL_CATEGORIES] })),
    reason: Type.Optional(Type.String({ minLength: 1, maxLength: 128 })),
  },
  { additionalProperties: false },
);

const MessageAnswer = answerOf('MessageAnswer', {
  id: Type.String(),
  at: Time,
  category: oneOf(CHANNEL_CATEGORIES),
  reason: Type.String(),
  text: Type.String(),
  clusterId: Type.Optional(Type.String()),
  resourceRef: Type.Optional(ResourceRefAnswer),
});

const list = {
  tags: ['channel'],
  operationId: 'listChannelMessages',
  summary: "The organization's discussion channel, the newest first",
  querystring: ChannelQuery,
  response: answers({ 200: pageOf(MessageAnswer) }),
};

/** `GET /channel?cluster=&category=&reason=`: the organization's discussion channel, the newest first. */
export function channelRoutes(app: HttpServer, deps: AdminDeps): void {
  app.get('/channel', { schema: list }, async (request, reply) => {
    const { organization } = adminOf(request);
    const { cluster, category, reason } = request.query;
    const clusterId =
      cluster === undefined ? undefined : await requireClusterId(deps.store.db, organization.id, cluster);
    const page = readPage(request.query, 'n');
    const before = page.after === undefined ? undefined : Number(page.after[0]);
    const filter = { organizationId: organization.id, clusterId, category, reason };
    const answer = await answerPage(
      page,
      async (limit) => await listMessages(deps.store.db, filter, { limit, before }),
      ({ id }) => [id],
      viewMessage,
    );
    return await reply.send(answer);
  });
}

function viewMessage(row: StoredMessage): Static<typeof MessageAnswer> {
  return {
    id: row.message_key,
    at: row.at,
    category: row.category,
    reason: row.reason,
    text: row.text,
    ...ifKnown('clusterId', row.cluster_id),
    ...ifKnown('resourceRef', row.resource_ref === null ? null : (JSON.parse(row.resource_ref) as ResourceRef)),
  };
}
