import type { FastifyRequest } from 'fastify';
import type { Kysely } from 'kysely';
import { Type, type Static } from 'typebox';
import { AppError } from '../../../protocol/app-error.ts';
import { EntryName } from '../../../protocol/names.ts';
import { Secret } from '../../../runtime/secret.ts';
import { appendAudit } from '../../store/audit.ts';
import type { AuditKind } from '../../store/audit-kinds.ts';
import { MAX_QUEUED, queueLengths, type ChannelWebhookRowRead } from '../../store/channel-outbox.ts';
import { deleteWebhook, enableWebhook, listWebhooks } from '../../store/channel-webhooks.ts';
import type { Database } from '../../store/schema.ts';
import { isUniqueViolation } from '../../store/store-error.ts';
import { answerOf, answers, listOf, NoAnswer, Time } from '../openapi/answers.ts';
import type { HttpServer } from '../server.ts';
import type { AdminDeps } from './admin-deps.ts';
import { adminOf } from './authenticate.ts';
import { ifKnown } from './cluster-view.ts';
import { bodyMayBeAbsent, NoBody } from './named-cluster.ts';

const WebhookParams = Type.Object({ webhook: EntryName });

const AddWebhook = Type.Object(
  {
    name: EntryName,
    url: Type.String({ minLength: 1, maxLength: 2048, description: 'an https:// address' }),
  },
  { additionalProperties: false },
);

const WebhookAnswer = answerOf('WebhookAnswer', {
  name: Type.String(),
  host: Type.String(),
  createdBy: Type.String(),
  createdAt: Time,
  /** Messages not sent yet, of at most `maxWaiting`; the oldest beyond that are dropped. */
  waiting: Type.Integer(),
  maxWaiting: Type.Integer(),
  dropped: Type.Integer(),
  lastSentAt: Type.Optional(Time),
  failingSince: Type.Optional(Time),
  lastError: Type.Optional(Type.String()),
  disabledAt: Type.Optional(Time),
  disabledReason: Type.Optional(Type.String()),
});
const AddedWebhookAnswer = answerOf('AddedWebhookAnswer', {
  webhook: WebhookAnswer,
  secret: Type.String({ description: 'that deliveries are signed with; shown once' }),
});
const WebhooksAnswer = answerOf('WebhooksAnswer', { items: listOf(WebhookAnswer) });
const WebhookTestAnswer = answerOf('WebhookTestAnswer', {
  taken: Type.Boolean(),
  answer: Type.String({ description: 'what came back' }),
});

const add = {
  tags: ['channel'],
  operationId: 'addChannelWebhook',
  summary: 'Sends messages of the channel to an address',
  body: AddWebhook,
  response: answers({ 201: AddedWebhookAnswer }),
};
const list = {
  tags: ['channel'],
  operationId: 'listChannelWebhooks',
  summary: 'Where messages of the channel are sent',
  response: answers({ 200: WebhooksAnswer }),
};
const remove = {
  tags: ['channel'],
  operationId: 'deleteChannelWebhook',
  summary: 'Sends no more messages there',
  params: WebhookParams,
  response: answers({ 204: NoAnswer }),
};
const enable = {
  tags: ['channel'],
  operationId: 'enableChannelWebhook',
  summary: 'Sends messages again to an address that failed too long',
  params: WebhookParams,
  body: NoBody,
  response: answers({ 200: WebhookAnswer }),
};
const test = {
  tags: ['channel'],
  operationId: 'testChannelWebhook',
  summary: 'Sends a test message',
  params: WebhookParams,
  body: NoBody,
  response: answers({ 200: WebhookTestAnswer }),
};

/**
 * `POST`, `GET /channel/webhooks`; `DELETE /channel/webhooks/{name}`; `POST …/{name}/test`, `…/{name}/enable`. An address
 * is a credential: after it was set only its host is shown, as the key is shown once.
 */
export function channelWebhookRoutes(app: HttpServer, deps: AdminDeps): void {
  const { store, channel } = deps;

  app.post('/channel/webhooks', { schema: add }, async (request, reply) => {
    const { organization, name: actor } = adminOf(request);
    const { name } = request.body;
    const prepared = await channel.prepareWebhook(new Secret(request.body.url));
    const added = store.write(async (trx) => {
      await channel.insertWebhook(trx, prepared, { organizationId: organization.id, name, createdBy: actor });
      await audit(trx, deps, request, 'ChannelWebhookAdded', `webhook ${name} of the channel added: ${prepared.host}`);
      return await channel.requireWebhook(trx, organization.id, name);
    });
    const webhook = await added.catch((error: unknown) => {
      if (!isUniqueViolation(error)) throw error;
      const message = `there is a webhook ${name} already; delete it first or choose another name`;
      throw new AppError('conflict', message, { cause: error, faults: [{ path: '/name', message: 'is taken' }] });
    });
    return await reply.code(201).send({ webhook: viewWebhook(webhook, 0), secret: prepared.secret.expose() });
  });

  app.get('/channel/webhooks', { schema: list }, async (request, reply) => {
    const { organization } = adminOf(request);
    const waiting = await queueLengths(store.db, organization.id);
    const rows = await listWebhooks(store.db, organization.id);
    return await reply.send({ items: rows.map((row) => viewWebhook(row, waiting.get(row.id) ?? 0)) });
  });

  app.delete('/channel/webhooks/:webhook', { schema: remove }, async (request, reply) => {
    const { organization } = adminOf(request);
    await store.write(async (trx) => {
      const webhook = await channel.requireWebhook(trx, organization.id, request.params.webhook);
      await deleteWebhook(trx, webhook.id);
      const summary = `webhook ${webhook.name} of the channel deleted: ${webhook.host}`;
      await audit(trx, deps, request, 'ChannelWebhookDeleted', summary);
    });
    return await reply.code(204).send();
  });

  app.post(
    '/channel/webhooks/:webhook/enable',
    { schema: enable, preValidation: bodyMayBeAbsent },
    async (request, reply) => {
      const { organization } = adminOf(request);
      const webhook = await store.write(async (trx) => {
        const before = await channel.requireWebhook(trx, organization.id, request.params.webhook);
        if (before.disabled_at === null) return before;
        await enableWebhook(trx, before.id);
        await audit(trx, deps, request, 'ChannelWebhookEnabled', `webhook ${before.name} of the channel enabled again`);
        return await channel.requireWebhook(trx, organization.id, before.name);
      });
      const waiting = await queueLengths(store.db, organization.id);
      return await reply.send(viewWebhook(webhook, waiting.get(webhook.id) ?? 0));
    },
  );

  app.post(
    '/channel/webhooks/:webhook/test',
    { schema: test, preValidation: bodyMayBeAbsent },
    async (request, reply) => {
      const { organization } = adminOf(request);
      const webhook = await channel.requireWebhook(store.db, organization.id, request.params.webhook);
      await store.write(async (trx) => {
        await audit(trx, deps, request, 'ChannelWebhookTested', `test message sent to webhook ${webhook.name}`);
      });
      const { state, answer } = await channel.test(webhook, app.closing);
      return await reply.send({ taken: state === 'taken', answer });
    },
  );
}

async function audit(
  trx: Kysely<Database>,
  deps: Pick<AdminDeps, 'clock'>,
  request: FastifyRequest,
  kind: AuditKind,
  summary: string,
): Promise<void> {
  const { organization, name: actor } = adminOf(request);
  const at = deps.clock.now().toISOString();
  await appendAudit(trx, { organizationId: organization.id, at, source: 'user', kind, actor, summary });
}

function viewWebhook(row: ChannelWebhookRowRead, waiting: number): Static<typeof WebhookAnswer> {
  return {
    name: row.name,
    host: row.host,
    createdBy: row.created_by,
    createdAt: row.created_at,
    waiting,
    maxWaiting: MAX_QUEUED,
    dropped: row.dropped,
    ...ifKnown('lastSentAt', row.last_sent_at),
    ...ifKnown('failingSince', row.failing_since),
    ...ifKnown('lastError', row.last_error),
    ...ifKnown('disabledAt', row.disabled_at),
    ...ifKnown('disabledReason', row.disabled_reason),
  };
}
