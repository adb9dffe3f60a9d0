import { Type, type Static } from 'typebox';
import { AppError } from '../../../protocol/app-error.ts';
import type { Condition, ResourceRef } from '../../../protocol/condition.ts';
import { JOB_KINDS, JOB_OUTCOMES, type JobPhase } from '../../../protocol/job.ts';
import { findJobOf, listJobsOf } from '../../store/job-pages.ts';
import { JOB_STATES, type JobRow, type JobState } from '../../store/job-rows.ts';
import {
  answerOf,
  answers,
  ConditionAnswer,
  listOf,
  oneOf,
  pageOf,
  ResourceRefAnswer,
  Time,
} from '../openapi/answers.ts';
import type { HttpServer } from '../server.ts';
import type { AdminDeps } from './admin-deps.ts';
import { adminOf } from './authenticate.ts';
import { ifKnown } from './cluster-view.ts';
import { ClusterParams, requireCluster } from './named-cluster.ts';
import { answerPage, PageQuery, readPage } from './page.ts';

const JobParams = Type.Object({ job: Type.String({ minLength: 1, maxLength: 128 }) });

const JobsQuery = Type.Object(
  {
    ...PageQuery.properties,
    state: Type.Optional(Type.Unsafe<JobState>({ type: 'string', enum: [...JOB_STATES] })),
  },
  { additionalProperties: false },
);

const status = {
  /** As the operator says it; others than ours may have phases of their own. */
  phase: Type.Optional(Type.String()),
  message: Type.Optional(Type.String()),
  conditions: Type.Optional(listOf(ConditionAnswer)),
  statusAt: Type.Optional(Time),
};
export const JobAnswer = answerOf('JobAnswer', {
  id: Type.String(),
  clusterId: Type.String(),
  intentId: Type.String(),
  kind: oneOf(JOB_KINDS),
  state: oneOf(JOB_STATES),
  resource: Type.Object({ kind: Type.String(), namespace: Type.String(), name: Type.String() }),
  generation: Type.Integer(),
  deliveryEpoch: Type.Integer(),
  idempotencyKey: Type.String(),
  ...status,
  /** Of a job that is closed: what was reported on the way there. */
  lastStatus: Type.Optional(Type.Object(status)),
  outcome: Type.Optional(oneOf(JOB_OUTCOMES)),
  error: Type.Optional(Type.String()),
  appliedRef: Type.Optional(ResourceRefAnswer),
  createdAt: Time,
  expiresAt: Time,
  deliveredAt: Type.Optional(Time),
  acknowledgedAt: Type.Optional(Time),
  closedAt: Type.Optional(Time),
});
export type JobView = Static<typeof JobAnswer>;

const show = {
  tags: ['jobs'],
  operationId: 'getJob',
  summary: 'One job of pull mode, without its payload',
  params: JobParams,
  response: answers({ 200: JobAnswer }),
};
const list = {
  tags: ['jobs'],
  operationId: 'listJobsOfCluster',
  summary: 'Jobs of a cluster, the newest first',
  params: ClusterParams,
  querystring: JobsQuery,
  response: answers({ 200: pageOf(JobAnswer) }),
};

/** `GET /jobs/{id}`, `GET /clusters/{id}/jobs`. Payloads are not shown: the intent says what was asked for. */
export function jobRoutes(app: HttpServer, deps: Pick<AdminDeps, 'store'>): void {
  app.get('/jobs/:job', { schema: show }, async (request, reply) => {
    const job = await findJobOf(deps.store.db, adminOf(request).organization.id, request.params.job);
    if (job === undefined) throw new AppError('not_found', `there is no job ${request.params.job}`);
    return await reply.send(viewJob(job));
  });

  app.get('/clusters/:cluster/jobs', { schema: list }, async (request, reply) => {
    const cluster = await requireCluster(deps.store.db, adminOf(request).organization.id, request.params.cluster);
    const page = readPage(request.query, 'ss');
    const before = page.after === undefined ? undefined : ([String(page.after[0]), String(page.after[1])] as const);
    const { state } = request.query;
    const answer = await answerPage(
      page,
      async (limit) => await listJobsOf(deps.store.db, cluster.id, { limit, before, state }),
      (job) => [job.created_at, job.id],
      viewJob,
    );
    return await reply.send(answer);
  });
}

/** A job as it is shown: nothing of its payload. */
export function viewJob(job: JobRow): JobView {
  return {
    id: job.id,
    clusterId: job.cluster_id,
    intentId: job.intent_id,
    kind: job.kind,
    state: job.state,
    resource: { kind: job.target_kind, namespace: job.namespace, name: job.name },
    generation: job.generation,
    deliveryEpoch: job.delivery_epoch,
    idempotencyKey: job.idempotency_key,
    ...(job.state === 'closed' ? viewEnd(job) : viewStatus(job)),
    ...ifKnown('outcome', job.outcome),
    ...ifKnown('error', job.error),
    ...ifKnown('appliedRef', read<ResourceRef>(job.applied_ref)),
    createdAt: job.created_at,
    expiresAt: job.expires_at,
    ...ifKnown('deliveredAt', job.delivered_at),
    ...ifKnown('acknowledgedAt', job.acknowledged_at),
    ...ifKnown('closedAt', job.closed_at),
  };
}

function viewStatus(job: JobRow) {
  return {
    ...ifKnown('phase', job.phase),
    ...ifKnown('message', job.status_message),
    ...ifKnown('conditions', read<readonly Condition[]>(job.status_conditions)),
    ...ifKnown('statusAt', job.status_at),
  };
}

/** A result is the end: what was reported on the way there is no longer so, and stands apart. */
function viewEnd(job: JobRow) {
  return {
    ...ifKnown('phase', phaseAtEnd(job)),
    ...(job.phase === null ? {} : { lastStatus: viewStatus(job) }),
  };
}

/** None where nothing is there any more, or nothing was done. */
function phaseAtEnd({ kind, outcome, applied_ref: appliedRef }: JobRow): JobPhase | null {
  if (outcome === 'failed' || outcome === 'conflict') return 'Failed';
  return outcome === 'succeeded' && kind !== 'delete' && appliedRef !== null ? 'Ready' : null;
}

function read<T>(json: string | null): T | null {
  return json === null ? null : (JSON.parse(json) as T);
}
