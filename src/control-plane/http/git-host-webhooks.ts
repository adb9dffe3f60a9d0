import { createHash } from 'node:crypto';
import type { FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import { AppError } from '../../protocol/app-error.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Logger } from '../../runtime/logger.ts';
import type { HostAccesses } from '../git-hosts/host-accesses.ts';
import { readWebhook } from '../git-hosts/read-webhook.ts';
import { isSigned } from '../git-hosts/verify-webhook.ts';
import { lookAtRequest } from '../store/hosted-proposals.ts';
import type { Store } from '../store/open-store.ts';
import { findRepositoryById } from '../store/repositories.ts';
import type { RepositoryRow } from '../store/schema.ts';
import { PROPOSALS_TOPIC } from '../topics.ts';
import type { Wakeups } from '../wakeups.ts';
import { answerOf, answers } from './openapi/answers.ts';
import type { HttpServer } from './server.ts';

/** An event of a pull request is about 30 KB, more with a long description; events of pushes are of no interest. */
const MAX_BODY = 1024 * 1024;
/** Deliveries that are remembered, so that the same one again does nothing. */
const MAX_REMEMBERED = 2000;

const WebhookParams = Type.Object({ repositoryId: Type.String({ minLength: 1, maxLength: 64 }) });

const SCHEMA = {
  tags: ['webhooks'],
  operationId: 'receiveGitHostWebhook',
  summary: 'A Git host says that a pull or merge request has changed; signed as the host signs',
  params: WebhookParams,
  response: answers({
    200: answerOf('WebhookReceiptAnswer', { looked: Type.Boolean({ description: 'whether a proposal is looked at' }) }),
  }),
};

export interface GitHostWebhookDeps {
  readonly store: Store;
  readonly wakeups: Wakeups;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly hostAccesses: Pick<HostAccesses, 'of'>;
}

/**
 * `POST /webhooks/git/{repositoryId}`: a Git host says that a pull or merge request has changed. That is a hint: the request
 * is looked at, and nothing that the delivery says of it is believed. Each delivery is verified with the repository's webhook
 * secret, as its host signs; one that came before is taken and does nothing.
 */
export function gitHostWebhookRoutes(app: HttpServer, deps: GitHostWebhookDeps): void {
  const { store, wakeups, logger } = deps;
  const remembered = new Set<string>();

  app.register(async (scope: HttpServer) => {
    // The signature is over the bytes as they came.
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser(
      '*',
      { parseAs: 'buffer', bodyLimit: MAX_BODY },
      async (_: unknown, body: Buffer) => body,
    );

    scope.post('/webhooks/git/:repositoryId', { schema: SCHEMA, bodyLimit: MAX_BODY }, async (request, reply) => {
      const body = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0);
      const row = await findRepositoryById(store.db, request.params.repositoryId);
      const expected = row === undefined ? undefined : await verified(deps, row, request, body);
      if (row?.host === undefined || row.host === null || expected === undefined) {
        logger.info(
          { requestId: request.id, repositoryId: row?.id },
          'a delivery without a valid signature was refused',
        );
        throw new AppError('invalid_signature', "the delivery is not signed with this repository's webhook secret");
      }
      const event = readWebhook(row.host, request.headers['content-type'], body);
      if (event.repository.toLowerCase() !== expected.toLowerCase()) {
        throw new AppError('forbidden', 'the delivery is about another repository than the one of this address');
      }
      const { number } = event;
      if (number === undefined || !isFirst(remembered, request, body)) return await reply.send({ looked: false });
      const looked = await store.write(async (trx) => await lookAtRequest(trx, row.id, number));
      if (looked) wakeups.notify(PROPOSALS_TOPIC);
      return await reply.send({ looked });
    });
  });
}

/** The repository's path on its host where the delivery is signed with its secret. */
async function verified(
  { hostAccesses, clock }: GitHostWebhookDeps,
  row: RepositoryRow,
  { headers }: FastifyRequest,
  body: Buffer,
): Promise<string | undefined> {
  if (row.host === null) return undefined;
  const { webhookSecret, repository } = await hostAccesses.of(row);
  return isSigned(row.host, { headers, body }, webhookSecret, clock.now()) ? repository.projectPath : undefined;
}

/** A host's own id of a delivery is the same when a person sends it again; it is not signed, so the body counts. */
function isFirst(remembered: Set<string>, { headers, url }: FastifyRequest, body: Buffer): boolean {
  const sent = String(headers['webhook-signature'] ?? '');
  const digest = createHash('sha256').update(`${url}\n${sent}\n`).update(body).digest('base64');
  if (remembered.has(digest)) return false;
  remembered.add(digest);
  const [oldest] = remembered;
  if (remembered.size > MAX_REMEMBERED && oldest !== undefined) remembered.delete(oldest);
  return true;
}
