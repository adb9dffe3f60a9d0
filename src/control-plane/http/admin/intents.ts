import { Type } from 'typebox';
import { IntentRequest } from '../../../intent/intent-request.ts';
import { AppError } from '../../../protocol/app-error.ts';
import { refusal } from '../../../protocol/parse.ts';
import { acceptIntent } from '../../accept-intent.ts';
import { intentWarnings } from '../../catalog/intent-warnings.ts';
import { dryRunIntent } from '../../dry-run-intent.ts';
import { reasonOf } from '../../history/describe-commits.ts';
import { findIntentOf, listIntentsOf, type IntentWithReceipt } from '../../store/intents.ts';
import { repositoryOfCluster } from '../../store/repositories.ts';
import { answers } from '../openapi/answers.ts';
import type { HttpServer } from '../server.ts';
import type { AdminDeps } from './admin-deps.ts';
import { approvalSummaries } from './approvals.ts';
import { adminOf } from './authenticate.ts';
import { ifKnown } from './cluster-view.ts';
import { answerHeavyPage } from './heavy-page.ts';
import { ClusterParams, requireCluster } from './named-cluster.ts';
import { PageQuery, readPage } from './page.ts';
import {
  AcceptedIntentAnswer,
  DryRunAnswer,
  IntentAnswer,
  IntentPageAnswer,
  type ApprovalSummary,
  type IntentView,
} from './intent-answers.ts';

const IntentParams = Type.Object({ intent: Type.String({ minLength: 1, maxLength: 64 }) });

const submit = {
  tags: ['intents'],
  operationId: 'createIntent',
  summary: 'Asks for an application or an operation; with dryRun says what would become of it',
  params: ClusterParams,
  body: IntentRequest,
  response: answers({ 200: DryRunAnswer, 202: AcceptedIntentAnswer }),
};
const list = {
  tags: ['intents'],
  operationId: 'listIntentsOfCluster',
  summary: 'Intents for a cluster, the newest first',
  params: ClusterParams,
  querystring: PageQuery,
  response: answers({ 200: IntentPageAnswer }),
};
const show = {
  tags: ['intents'],
  operationId: 'getIntent',
  summary: 'One intent, and where it stands',
  params: IntentParams,
  response: answers({ 200: IntentAnswer }),
};

/** `POST`, `GET /clusters/{id}/intents`; `GET /intents/{id}`. */
export function intentRoutes(app: HttpServer, deps: AdminDeps): void {
  app.post('/clusters/:cluster/intents', { schema: submit }, async (request, reply) => {
    const { organization, name, tokenHash } = adminOf(request);
    const cluster = await requireCluster(deps.store.db, organization.id, request.params.cluster);
    const { dryRun, ...body } = request.body;
    if (dryRun === true) {
      return await reply.send(await dryRunIntent(deps, { clusterId: cluster.id, request: body, requestedBy: name }));
    }
    const accepted = await acceptIntent(deps, {
      clusterId: cluster.id,
      request: body,
      requestedBy: name,
      requestedWith: tokenHash,
      requestKey: readRequestKey(request.headers['idempotency-key']),
    });
    const warnings = await intentWarnings(deps.store.db, accepted.id);
    return await reply
      .code(202)
      .header('location', `/api/v1/intents/${accepted.id}`)
      .send({ ...accepted, ...(warnings.length === 0 ? {} : { warnings }) });
  });

  app.get('/clusters/:cluster/intents', { schema: list }, async (request, reply) => {
    const { organization } = adminOf(request);
    const cluster = await requireCluster(deps.store.db, organization.id, request.params.cluster);
    const page = readPage(request.query, 'ss');
    const answer = await answerHeavyPage(
      page,
      async (limit, after) => {
        const before = after === undefined ? undefined : ([String(after[0]), String(after[1])] as const);
        const intents = await listIntentsOf(deps.store.db, cluster.id, { limit, before });
        const ids = intents.map(({ intent }) => intent.id);
        const approvals = await approvalSummaries(deps.store.db, ids, deps.clock);
        return intents.map((one) => ({ ...one, approval: approvals.get(one.intent.id) }));
      },
      ({ intent }) => [intent.accepted_at, intent.id],
      ({ intent }) => intent.record.length,
      viewIntent,
    );
    return await reply.send(answer);
  });

  app.get('/intents/:intent', { schema: show }, async (request, reply) => {
    const found = await findIntentOf(deps.store.db, adminOf(request).organization.id, request.params.intent);
    if (found === undefined) throw new AppError('not_found', `there is no intent ${request.params.intent}`);
    const { id, cluster_id: clusterId } = found.intent;
    const approval = (await approvalSummaries(deps.store.db, [id], deps.clock)).get(id);
    return await reply.send(viewIntent({ ...found, approval }, await repositoryOfCluster(deps.store.db, clusterId)));
  });
}

/** An intent as it is shown: nothing of its values. `repository`: name of the one that its commit is in. */
export function viewIntent(
  { intent, receipt, proposal, approval }: IntentWithReceipt & { readonly approval?: ApprovalSummary | undefined },
  repository?: string,
): IntentView {
  return {
    id: intent.id,
    clusterId: intent.cluster_id,
    action: intent.action,
    namespace: intent.namespace,
    name: intent.name,
    generation: intent.generation,
    state: intent.state,
    ...ifKnown('reason', intent.reason),
    ...(proposal === undefined
      ? {}
      : { proposal: { id: proposal.id, state: proposal.state, ...ifKnown('url', proposal.host_url) } }),
    ...(approval === undefined ? {} : { approval }),
    ...(receipt === undefined
      ? {}
      : {
          receipt: {
            mode: receipt.mode,
            ...ifKnown('commit', receipt.commit_id),
            ...(receipt.commit_id === null || repository === undefined
              ? {}
              : { link: `/api/v1/repositories/${repository}/commits/${receipt.commit_id}` }),
            ...ifKnown('jobId', receipt.job_id),
            ...ifKnown('fieldManager', receipt.field_manager),
          },
        }),
    requestedBy: intent.requested_by,
    // `reason` is why it stands where it stands; this is why it was asked for.
    ...ifKnown('requestReason', reasonOf(intent) ?? null),
    acceptedAt: intent.accepted_at,
    ...ifKnown('deliveredAt', intent.delivered_at),
    ...ifKnown('appliedAt', intent.applied_at),
    ...ifKnown('readyAt', intent.ready_at),
  };
}

function readRequestKey(header: string | string[] | undefined): string | undefined {
  if (header === undefined) return undefined;
  if (typeof header === 'string' && /^[\x21-\x7e]{1,255}$/.test(header)) return header;
  throw refusal([{ path: '/headers/idempotency-key', message: 'must be 1 to 255 visible ASCII characters, once' }]);
}
