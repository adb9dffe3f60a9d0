import { Type, type Static } from 'typebox';
import { countApprovals } from '../../proposals/count-approvals.ts';
import type { StoredStanding } from '../../proposals/standing.ts';
import { RequiredApprovals } from '../../git/git-settings.ts';
import { pinsIn } from '../../store/proposals.ts';
import { localName } from '../../store/repositories.ts';
import type { RepositoryRow } from '../../store/schema.ts';
import { answerOf, listOf, oneOf, Time } from '../openapi/answers.ts';
import { ifKnown } from './cluster-view.ts';
import { MissingApprovals, PROPOSAL_STATES } from './intent-answers.ts';

/** A proposal as the admin API shows it. */
export const ProposalAnswer = answerOf('ProposalAnswer', {
  id: Type.String(),
  clusterId: Type.String(),
  clusterSlug: Type.String(),
  intentId: Type.String(),
  repository: Type.String(),
  hostNumber: Type.Optional(Type.Integer({ description: 'of the pull or merge request on its Git host' })),
  hostUrl: Type.Optional(Type.String()),
  branch: Type.String(),
  title: Type.String(),
  state: oneOf(PROPOSAL_STATES),
  revision: Type.Integer(),
  author: Type.String(),
  baseCommit: Type.Optional(Type.String()),
  headCommit: Type.Optional(Type.String()),
  mergedCommit: Type.Optional(Type.String()),
  /** Relative to the cluster's directory; empty while it is rendered anew. */
  blobs: listOf(
    Type.Object({
      path: Type.String(),
      before: Type.Optional(Type.String()),
      after: Type.Optional(Type.String()),
    }),
  ),
  approvals: Type.Object({
    required: RequiredApprovals,
    given: listOf(Type.String({ description: 'who approved the current revision, as it counts now' })),
    missing: MissingApprovals,
  }),
  reviews: listOf(
    answerOf('ReviewAnswer', {
      id: Type.String(),
      kind: oneOf(['approve', 'reject', 'comment']),
      actor: Type.String(),
      roles: listOf(Type.String()),
      comment: Type.Optional(Type.String()),
      revision: Type.Integer(),
      at: Time,
      droppedAt: Type.Optional(Time),
    }),
  ),
  createdAt: Time,
  updatedAt: Time,
  closedAt: Type.Optional(Time),
  closeReason: Type.Optional(Type.String()),
});
export type ProposalView = Static<typeof ProposalAnswer>;

/** What a proposal changes (`ProposalDiff`). */
export const ProposalDiffAnswer = answerOf('ProposalDiffAnswer', {
  base: Type.Optional(Type.String({ description: 'a commit; absent where it is the first one of its branch' })),
  head: Type.String(),
  revision: Type.Integer({ description: 'the one that this shows: an approval of what was read here names it' }),
  files: listOf(
    Type.Object({
      path: Type.String(),
      status: oneOf(['added', 'modified', 'deleted']),
      before: Type.Optional(Type.String()),
      after: Type.Optional(Type.String()),
      patch: Type.String({ description: 'a unified diff, from its --- on' }),
      truncated: Type.Optional(Type.Literal(true)),
    }),
  ),
});

export function viewProposal(
  standing: StoredStanding,
  repository: Pick<RepositoryRow, 'name'> | undefined,
): ProposalView {
  const { row, cluster, reviewRows, required } = standing;
  const { given, missing } = countApprovals(standing, required, standing.holders);
  return {
    id: row.id,
    clusterId: row.cluster_id,
    clusterSlug: cluster.slug,
    intentId: row.intent_id,
    repository: repository === undefined ? row.repository_id : localName(repository),
    ...ifKnown('hostNumber', row.host_number),
    ...ifKnown('hostUrl', row.host_url),
    branch: row.branch,
    title: row.title,
    state: row.state,
    revision: row.revision,
    author: row.author,
    ...ifKnown('baseCommit', row.base_commit),
    ...ifKnown('headCommit', row.head_commit),
    ...ifKnown('mergedCommit', row.merged_commit),
    blobs: pinsIn(row),
    approvals: { required, given, missing },
    reviews: reviewRows.map((review) => ({
      id: review.id,
      kind: review.kind,
      actor: review.actor,
      roles: JSON.parse(review.roles) as string[],
      ...ifKnown('comment', review.comment),
      revision: review.revision,
      at: review.at,
      ...ifKnown('droppedAt', review.dropped_at),
    })),
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    ...ifKnown('closedAt', row.closed_at),
    ...ifKnown('closeReason', row.close_reason),
  };
}
