import type { BlobPin } from '../../../delivery/delivery.ts';
import { countApprovals } from '../../proposals/count-approvals.ts';
import type { StoredStanding } from '../../proposals/standing.ts';
import type { RequiredApprovals } from '../../git/git-settings.ts';
import { pinsIn } from '../../store/proposals.ts';
import { localName } from '../../store/repositories.ts';
import type { ProposalState, RepositoryRow } from '../../store/schema.ts';
import { ifKnown } from './cluster-view.ts';

/** A proposal as the admin API shows it. */
export interface ProposalView {
  readonly id: string;
  readonly clusterId: string;
  readonly clusterSlug: string;
  readonly intentId: string;
  readonly repository: string;
  /** Of the pull or merge request on its Git host. */
  readonly hostNumber?: number;
  readonly hostUrl?: string;
  readonly branch: string;
  readonly title: string;
  readonly state: ProposalState;
  readonly revision: number;
  readonly author: string;
  readonly baseCommit?: string;
  readonly headCommit?: string;
  readonly mergedCommit?: string;
  /** Relative to the cluster's directory; empty while it is rendered anew. */
  readonly blobs: readonly BlobPin[];
  readonly approvals: {
    readonly required: RequiredApprovals;
    /** Those that count now, for the current revision. */
    readonly given: readonly string[];
    readonly missing: { readonly count: number; readonly roles: Readonly<Record<string, number>> };
  };
  readonly reviews: readonly {
    readonly id: string;
    readonly kind: 'approve' | 'reject' | 'comment';
    readonly actor: string;
    readonly roles: readonly string[];
    readonly comment?: string;
    readonly revision: number;
    readonly at: string;
    readonly droppedAt?: string;
  }[];
  readonly createdAt: string;
  readonly updatedAt: string;
  readonly closedAt?: string;
  readonly closeReason?: string;
}

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
