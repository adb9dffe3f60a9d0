import type { Kysely } from 'kysely';
import { Type } from 'typebox';
import { AppError } from '../../../protocol/app-error.ts';
import type { Clock } from '../../../runtime/clock.ts';
import { actOnApproval } from '../../approvals/act-on-approval.ts';
import { approvalStanding, approvalStandings } from '../../approvals/standing.ts';
import { approvalsOfIntents, findApprovalOf, listApprovals } from '../../store/approvals.ts';
import type { ApprovalRow, Database } from '../../store/schema.ts';
import { answers, oneOf, pageOf } from '../openapi/answers.ts';
import type { HttpServer } from '../server.ts';
import type { AdminDeps } from './admin-deps.ts';
import { ApprovalAnswer, summaryOf, viewApproval, type ApprovalView } from './approval-view.ts';
import { adminOf } from './authenticate.ts';
import { bodyMayBeAbsent, requireCluster } from './named-cluster.ts';
import { answerPage, PageQuery, readPage } from './page.ts';
import { CommentText } from './proposals.ts';
import { APPROVAL_STATES, type ApprovalSummary } from './intent-answers.ts';

const ApprovalQuery = Type.Object(
  {
    ...PageQuery.properties,
    cluster: Type.Optional(Type.String({ minLength: 1, maxLength: 64, description: 'id or slug of a cluster' })),
    state: Type.Optional(oneOf(APPROVAL_STATES)),
  },
  { additionalProperties: false },
);
const ApprovalParams = Type.Object({ approval: Type.String({ minLength: 1, maxLength: 64 }) });
const IntentParams = Type.Object({ intent: Type.String({ minLength: 1, maxLength: 64 }) });
const ApproveBody = Type.Object(
  {
    comment: Type.Optional(CommentText),
    specHash: Type.Optional(
      // It is named in the audit log where it is another one.
      Type.String({ pattern: '^[!-~]{1,128}$', description: 'of the spec that was looked at' }),
    ),
  },
  { additionalProperties: false },
);
const RejectBody = Type.Object({ comment: Type.Optional(CommentText) }, { additionalProperties: false });

const list = {
  tags: ['approvals'],
  operationId: 'listApprovals',
  summary: 'Requests for approval, the newest first, without what is delivered',
  querystring: ApprovalQuery,
  response: answers({ 200: pageOf(ApprovalAnswer) }),
};
const show = {
  tags: ['approvals'],
  operationId: 'getApproval',
  summary: 'One request for approval',
  params: ApprovalParams,
  response: answers({ 200: ApprovalAnswer }),
};
const approve = {
  tags: ['approvals'],
  operationId: 'approveIntent',
  summary: 'Approves an intent',
  params: IntentParams,
  body: ApproveBody,
  response: answers({ 200: ApprovalAnswer }),
};
const reject = {
  tags: ['approvals'],
  operationId: 'rejectIntent',
  summary: 'Rejects an intent, which ends it',
  params: IntentParams,
  body: RejectBody,
  response: answers({ 200: ApprovalAnswer }),
};

/** `GET /approvals`, `/approvals/{id}`; `POST /intents/{id}/approve|reject`. */
export function approvalRoutes(app: HttpServer, deps: AdminDeps): void {
  const { store, clock } = deps;

  app.get('/approvals', { schema: list }, async (request, reply) => {
    const { organization } = adminOf(request);
    const { cluster, state } = request.query;
    const clusterId = cluster === undefined ? undefined : (await requireCluster(store.db, organization.id, cluster)).id;
    const page = readPage(request.query, 'ss');
    const before = page.after === undefined ? undefined : ([String(page.after[0]), String(page.after[1])] as const);
    const filter = { organizationId: organization.id, clusterId, state };
    const answer = await answerPage(
      page,
      async (limit) => await listApprovals(store.db, filter, { limit, before }),
      (row) => [row.requested_at, row.id],
      (row) => row,
    );
    const standings = await approvalStandings(store.db, answer.items, clock.now());
    return await reply.send({ ...answer, items: standings.map((standing) => viewApproval(standing, false)) });
  });

  app.get('/approvals/:approval', { schema: show }, async (request, reply) => {
    const { organization } = adminOf(request);
    const { approval: id } = request.params;
    const row = await findApprovalOf(store.db, organization.id, id);
    if (row === undefined) throw new AppError('not_found', `there is no approval ${id}`);
    return await reply.send(await view(deps, row));
  });

  const approving = { schema: approve, preValidation: bodyMayBeAbsent };
  app.post('/intents/:intent/approve', approving, async (request, reply) => {
    const { intent } = request.params;
    await actOnApproval(deps, adminOf(request), intent, { kind: 'approve', ...request.body });
    return await reply.send(await viewOfIntent(deps, intent));
  });

  const rejecting = { schema: reject, preValidation: bodyMayBeAbsent };
  app.post('/intents/:intent/reject', rejecting, async (request, reply) => {
    const { intent } = request.params;
    await actOnApproval(deps, adminOf(request), intent, { kind: 'reject', ...request.body });
    return await reply.send(await viewOfIntent(deps, intent));
  });
}

/** By intent, of those that need one. */
export async function approvalSummaries(
  db: Kysely<Database>,
  intentIds: readonly string[],
  clock: Clock,
): Promise<Map<string, ApprovalSummary>> {
  const rows = [...(await approvalsOfIntents(db, intentIds)).values()];
  const standings = await approvalStandings(db, rows, clock.now());
  return new Map(standings.map((standing) => [standing.intent.id, summaryOf(standing)]));
}

async function viewOfIntent(deps: AdminDeps, intentId: string): Promise<ApprovalView> {
  const row = (await approvalsOfIntents(deps.store.db, [intentId])).get(intentId);
  if (row === undefined) throw new AppError('not_found', `there is no intent ${intentId}; it was just deleted`);
  return await view(deps, row);
}

async function view({ store, clock }: AdminDeps, row: ApprovalRow): Promise<ApprovalView> {
  const standing = await approvalStanding(store.db, row, clock.now());
  if (standing === undefined) throw new AppError('not_found', `the cluster of approval ${row.id} was just deleted`);
  return viewApproval(standing, true);
}
