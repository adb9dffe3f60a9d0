import type { FastifyReply, FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import { JobResult, JobStatus, MAX_JOB_BODY_BYTES } from '../../../protocol/job.ts';
import { refusal } from '../../../protocol/parse.ts';
import type { Clock } from '../../../runtime/clock.ts';
import { acknowledgeJob, recordJobResult, recordJobStatus, type Settled } from '../../jobs/settle-job.ts';
import type { RefusalAudit } from '../../refusal-audit.ts';
import type { Store } from '../../store/open-store.ts';
import { DELIVERY_TOPIC, statusTopic } from '../../topics.ts';
import type { Wakeups } from '../../wakeups.ts';
import { answers, NoAnswer } from '../openapi/answers.ts';
import type { HttpServer } from '../server.ts';
import { agentOf } from './authenticate.ts';
import { requireOwnJob } from './own-job.ts';
import { limited, type RateLimits } from './rate-limits.ts';
import { requireSignature } from './require-signature.ts';

export interface JobWritesDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly wakeups: Wakeups;
  readonly refusals: RefusalAudit;
  readonly rateLimits: RateLimits;
}

const JobParams = Type.Object({ jobId: Type.String({ minLength: 1, maxLength: 128 }) });

const ACK = {
  tags: ['agent'],
  operationId: 'acknowledgeJob',
  summary: 'The operator has the job and will do it',
  params: JobParams,
  response: answers({ 204: NoAnswer }),
};
const STATUS = {
  tags: ['agent'],
  operationId: 'postJobStatus',
  summary: 'Where a job stands',
  params: JobParams,
  body: JobStatus,
  response: answers({ 204: NoAnswer }),
};
const RESULT = {
  tags: ['agent'],
  operationId: 'postJobResult',
  summary: 'What became of a job, which ends it',
  params: JobParams,
  body: JobResult,
  response: answers({ 204: NoAnswer }),
};

/**
 * `POST /api/agent/jobs/{jobId}/ack`, `/status`, `/result`: 204 once it is on the disk. Each of them acknowledges the
 * job, so that an ack whose answer was lost costs nothing.
 */
export function jobWriteRoutes(app: HttpServer, deps: JobWritesDeps): void {
  const options = {
    ...limited(deps.rateLimits, 'writes'),
    bodyLimit: MAX_JOB_BODY_BYTES,
    preValidation: requireSignature(deps),
  };
  app.post('/api/agent/jobs/:jobId/ack', { ...options, schema: ACK }, async (request, reply) => {
    const { jobId } = request.params;
    await requireOwnJob(deps, request, jobId);
    const at = deps.clock.now().toISOString();
    await deps.store.write(async (trx) => await acknowledgeJob(trx, jobId, at), { urgent: true });
    return await noContent(reply);
  });

  app.post('/api/agent/jobs/:jobId/status', { ...options, schema: STATUS }, async (request, reply) => {
    const { jobId } = request.params;
    const status = request.body;
    await requireOwnJob(deps, request, jobId);
    const now = deps.clock.now();
    tell(deps, request, await deps.store.write(async (trx) => await recordJobStatus(trx, jobId, status, now)));
    return await noContent(reply);
  });

  app.post('/api/agent/jobs/:jobId/result', { ...options, schema: RESULT }, async (request, reply) => {
    const { jobId } = request.params;
    const result = request.body;
    requireError(result);
    await requireOwnJob(deps, request, jobId);
    const now = deps.clock.now();
    tell(deps, request, await deps.store.write(async (trx) => await recordJobResult(trx, jobId, result, now)));
    return await noContent(reply);
  });
}

function tell(deps: JobWritesDeps, request: FastifyRequest, settled: Settled): void {
  if (settled.intentMoved) deps.wakeups.notify(statusTopic(agentOf(request).cluster.id));
  if (settled.redelivered) deps.wakeups.notify(DELIVERY_TOPIC);
}

/** @throws AppError `constraint_violated` */
function requireError({ outcome, error = '' }: JobResult): void {
  if (outcome !== 'failed' || error.trim() !== '') return;
  throw refusal([{ path: '/error', message: 'is required with the outcome failed: say what went wrong' }]);
}

async function noContent(reply: FastifyReply): Promise<FastifyReply> {
  return await reply.code(204).send();
}
