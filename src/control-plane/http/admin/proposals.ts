import type { Kysely } from 'kysely';
import { Type } from 'typebox';
import { AppError } from '../../../protocol/app-error.ts';
import { refusal } from '../../../protocol/parse.ts';
import { actOnProposal } from '../../proposals/act-on-proposal.ts';
import type { ReviewAct } from '../../proposals/decide-review.ts';
import { standingsOf } from '../../proposals/standing.ts';
import { findProposalOf, listProposals } from '../../store/proposals.ts';
import type { Database, ProposalRow } from '../../store/schema.ts';
import { answers, oneOf, pageOf } from '../openapi/answers.ts';
import type { HttpServer } from '../server.ts';
import type { AdminDeps } from './admin-deps.ts';
import { adminOf } from './authenticate.ts';
import { bodyMayBeAbsent, requireCluster } from './named-cluster.ts';
import { answerPage, PageQuery, readPage } from './page.ts';
import { ProposalAnswer, ProposalDiffAnswer, viewProposal, type ProposalView } from './proposal-view.ts';
import { PROPOSAL_STATES } from './intent-answers.ts';

const ProposalQuery = Type.Object(
  {
    ...PageQuery.properties,
    cluster: Type.Optional(Type.String({ minLength: 1, maxLength: 64, description: 'id or slug of a cluster' })),
    state: Type.Optional(oneOf(PROPOSAL_STATES)),
  },
  { additionalProperties: false },
);
const ProposalParams = Type.Object({ proposal: Type.String({ minLength: 1, maxLength: 64 }) });
/** As a reason of an intent, but for line feeds and tabs. */
const COMMENT_PATTERN =
  '^[^\\u0000-\\u0008\\u000b-\\u001f\\u007f-\\u009f\\u200e\\u200f\\u2028\\u2029\\u202a-\\u202e\\u2066-\\u2069]{1,4000}$';
export const CommentText = Type.String({
  pattern: COMMENT_PATTERN,
  description: 'up to 4000 characters, also of several lines; no control characters and none that turn text around',
});
const ActBody = Type.Object(
  {
    comment: Type.Optional(CommentText),
    revision: Type.Optional(Type.Integer({ minimum: 1, description: 'the revision that was looked at' })),
  },
  { additionalProperties: false },
);
const ACTS = {
  approve: 'Approves a proposal at the revision that was looked at',
  reject: 'Rejects a proposal, which ends its intent',
  comment: 'Says something of a proposal',
  merge: 'Merges a proposal that is approved',
  supersede: 'Closes a proposal for the intent that came after it',
} as const satisfies Partial<Record<ReviewAct['kind'], string>>;

const list = {
  tags: ['proposals'],
  operationId: 'listProposals',
  summary: 'Proposals, the newest first',
  querystring: ProposalQuery,
  response: answers({ 200: pageOf(ProposalAnswer) }),
};
const show = {
  tags: ['proposals'],
  operationId: 'getProposal',
  summary: 'One proposal with its reviews',
  params: ProposalParams,
  response: answers({ 200: ProposalAnswer }),
};
const diff = {
  tags: ['proposals'],
  operationId: 'getProposalDiff',
  summary: 'What a proposal changes, from Git itself',
  params: ProposalParams,
  response: answers({ 200: ProposalDiffAnswer }),
};

/** `GET /proposals`, `/proposals/{id}`, `/proposals/{id}/diff`; `POST /proposals/{id}/approve|reject|comment|merge|supersede`. */
export function proposalRoutes(app: HttpServer, deps: AdminDeps): void {
  const { store } = deps;

  app.get('/proposals', { schema: list }, async (request, reply) => {
    const { organization } = adminOf(request);
    const { cluster, state } = request.query;
    const clusterId = cluster === undefined ? undefined : (await requireCluster(store.db, organization.id, cluster)).id;
    const page = readPage(request.query, 'ss');
    const before = page.after === undefined ? undefined : ([String(page.after[0]), String(page.after[1])] as const);
    const filter = { organizationId: organization.id, clusterId, state };
    const answer = await answerPage(
      page,
      async (limit) => await listProposals(store.db, filter, { limit, before }),
      (row) => [row.created_at, row.id],
      (row) => row,
    );
    return await reply.send({ ...answer, items: await viewAll(deps, answer.items) });
  });

  app.get('/proposals/:proposal', { schema: show }, async (request, reply) => {
    const row = await requireProposal(store.db, adminOf(request).organization.id, request.params.proposal);
    return await reply.send(await view(deps, row));
  });

  app.get('/proposals/:proposal/diff', { schema: diff }, async (request, reply) => {
    const row = await requireProposal(store.db, adminOf(request).organization.id, request.params.proposal);
    return await reply.send(await deps.proposalDiffs.of(row, app.closing));
  });

  for (const [kind, summary] of Object.entries(ACTS) as [keyof typeof ACTS, string][]) {
    const schema = {
      tags: ['proposals'],
      operationId: `${kind}Proposal`,
      summary,
      params: ProposalParams,
      body: ActBody,
      response: answers({ 200: ProposalAnswer }),
    };
    const options = { schema, preValidation: bodyMayBeAbsent };
    app.post(`/proposals/:proposal/${kind}`, options, async (request, reply) => {
      const admin = adminOf(request);
      const { comment, revision } = request.body;
      if (kind === 'comment' && comment === undefined) {
        throw refusal([{ path: '/comment', message: 'is missing: a comment says something' }]);
      }
      await actOnProposal(deps, admin, request.params.proposal, { kind, comment, revision });
      const row = await requireProposal(store.db, admin.organization.id, request.params.proposal);
      return await reply.send(await view(deps, row));
    });
  }
}

async function view(deps: AdminDeps, row: ProposalRow): Promise<ProposalView> {
  const [shown] = await viewAll(deps, [row]);
  if (shown === undefined) throw new AppError('not_found', `the cluster of proposal ${row.id} was just deleted`);
  return shown;
}

async function viewAll({ store, clock }: AdminDeps, rows: readonly ProposalRow[]): Promise<ProposalView[]> {
  if (rows.length === 0) return [];
  const ids = [...new Set(rows.map((row) => row.repository_id))];
  const names = await store.db.selectFrom('repositories').select(['id', 'name']).where('id', 'in', ids).execute();
  const byId = new Map(names.map((repository) => [repository.id, repository]));
  const standings = await standingsOf(store.db, rows, clock.now());
  return standings.map((standing) => viewProposal(standing, byId.get(standing.row.repository_id)));
}

async function requireProposal(db: Kysely<Database>, organizationId: string, id: string): Promise<ProposalRow> {
  const row = await findProposalOf(db, organizationId, id);
  if (row === undefined) throw new AppError('not_found', `there is no proposal ${id}`);
  return row;
}
