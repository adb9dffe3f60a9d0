import { Type } from 'typebox';
import { REASON_PATTERN } from '../../../intent/intent-request.ts';
import type { IntentRecord } from '../../../intent/intent-record.ts';
import { AppError } from '../../../protocol/app-error.ts';
import { parseExactJson } from '../../../protocol/exact-json.ts';
import type { OperationPhase } from '../../../resources/operation.ts';
import { cancelIntent } from '../../cancel-intent.ts';
import { endOf, findOperation, listOperations, type StoredOperation } from '../../store/operation-views.ts';
import type { IntentRow, ResourceConditionRow } from '../../store/schema.ts';
import { answers } from '../openapi/answers.ts';
import type { HttpServer } from '../server.ts';
import type { AdminDeps } from './admin-deps.ts';
import { adminOf } from './authenticate.ts';
import { ifKnown } from './cluster-view.ts';
import { answerHeavyPage } from './heavy-page.ts';
import { bodyMayBeAbsent, ClusterParams, requireCluster } from './named-cluster.ts';
import { PageQuery, readPage } from './page.ts';
import { CancelledIntentAnswer, OperationPageAnswer, WholeOperationAnswer } from './operation-answers.ts';

const IntentParams = Type.Object({ intent: Type.String({ minLength: 1, maxLength: 64 }) });
const CancelBody = Type.Object(
  { reason: Type.Optional(Type.String({ pattern: REASON_PATTERN, description: 'one paragraph, as of an intent' })) },
  { additionalProperties: false },
);

const list = {
  tags: ['operations'],
  operationId: 'listOperationsOfCluster',
  summary: 'Operations in a cluster, the newest first',
  params: ClusterParams,
  querystring: PageQuery,
  response: answers({ 200: OperationPageAnswer }),
};
const show = {
  tags: ['operations'],
  operationId: 'getOperation',
  summary: 'One operation, by its intent, with its parameters',
  params: IntentParams,
  response: answers({ 200: WholeOperationAnswer }),
};
const cancel = {
  tags: ['intents'],
  operationId: 'cancelIntent',
  summary: 'Cancels an operation',
  params: IntentParams,
  body: CancelBody,
  response: answers({ 200: CancelledIntentAnswer, 202: CancelledIntentAnswer }),
};

/** `GET /clusters/{id}/operations`; `GET /operations/{intent}`; `POST /intents/{intent}/cancel`. */
export function operationRoutes(app: HttpServer, deps: AdminDeps): void {
  const { store } = deps;

  app.get('/clusters/:cluster/operations', { schema: list }, async (request, reply) => {
    const { organization } = adminOf(request);
    const cluster = await requireCluster(store.db, organization.id, request.params.cluster);
    const answer = await answerHeavyPage(
      readPage(request.query, 'ss'),
      async (limit, after) => {
        const before = after === undefined ? undefined : ([String(after[0]), String(after[1])] as const);
        return await listOperations(store.db, cluster.id, { limit, before });
      },
      ({ intent }) => [intent.accepted_at, intent.id],
      ({ intent }) => intent.record.length,
      viewOperation,
    );
    return await reply.send(answer);
  });

  app.get('/operations/:intent', { schema: show }, async (request, reply) => {
    const { intent } = request.params;
    const found = await findOperation(store.db, adminOf(request).organization.id, intent);
    if (found === undefined) throw new AppError('not_found', `there is no operation ${intent}`);
    const { parameters = {} } = recordIn(found.intent);
    return await reply.send({ ...viewOperation(found), parameters });
  });

  const cancelling = { schema: cancel, preValidation: bodyMayBeAbsent };
  app.post('/intents/:intent/cancel', cancelling, async (request, reply) => {
    const answer = await cancelIntent(deps, adminOf(request), request.params.intent, request.body.reason);
    return await reply.code(answer.cancellation === undefined ? 200 : 202).send(answer);
  });
}

/** An operation by what asked for it and what the cluster told. `Pending`: the cluster has told nothing yet. */
export function viewOperation({ intent, slug, cancellations, conditions }: StoredOperation) {
  const { operationTemplate, reason, targetRef, deadlineSeconds, ttlSecondsAfterFinished } = recordIn(intent);
  const phase = phaseOf(intent, conditions);
  const started = conditions.find(({ type, status }) => type === 'Running' && status === 'True');
  return {
    id: intent.id,
    clusterId: intent.cluster_id,
    clusterSlug: slug,
    namespace: intent.namespace,
    name: intent.name,
    template: operationTemplate,
    phase,
    ...ifKnown('targetRef', targetRef ?? null),
    ...ifKnown('deadlineSeconds', deadlineSeconds ?? null),
    ...ifKnown('ttlSecondsAfterFinished', ttlSecondsAfterFinished ?? null),
    conditions: conditions.map(viewCondition),
    ...ifKnown('startedAt', started?.last_transition_time ?? null),
    ...ifKnown('finishedAt', endOf(conditions)?.last_transition_time ?? null),
    requestedBy: intent.requested_by,
    requestedAt: intent.accepted_at,
    ...ifKnown('requestReason', reason ?? null),
    intents: [intent, ...cancellations].map((one) => ({
      id: one.id,
      generation: one.generation,
      state: one.state,
      ...ifKnown('reason', one.reason),
      ...(typeof one.cancels === 'string' ? { cancel: true } : {}),
      requestedBy: one.requested_by,
    })),
  };
}

function phaseOf({ state }: IntentRow, conditions: readonly ResourceConditionRow[]): OperationPhase | 'Pending' {
  const end = endOf(conditions);
  if (end !== undefined) return end.type as OperationPhase;
  const is = (type: OperationPhase): boolean =>
    conditions.some((condition) => condition.type === type && condition.status === 'True');
  if (is('Running')) return 'Running';
  if (is('Blocked')) return 'Blocked';
  if (is('Accepted')) return 'Accepted';
  if (state === 'ready') return 'Succeeded';
  return state === 'failed' || state === 'superseded' || state === 'removed' ? 'Failed' : 'Pending';
}

function viewCondition(row: ResourceConditionRow) {
  return {
    type: row.type,
    status: row.status,
    ...ifKnown('reason', row.reason),
    ...ifKnown('message', row.message),
    ...ifKnown('lastTransitionTime', row.last_transition_time),
  };
}

function recordIn({ record }: IntentRow): IntentRecord {
  return parseExactJson(record) as IntentRecord;
}
