import type { Kysely } from 'kysely';
import { gitSettingsOf } from '../git/git-settings.ts';
import type { CountedReview, Holders } from '../proposals/count-approvals.ts';
import { holdersOf } from '../proposals/standing.ts';
import { reviewsOfApprovals } from '../store/approvals.ts';
import { proposalsOfIntents, UNDECIDED } from '../store/proposals.ts';
import type { ApprovalReviewRow, ApprovalRow, ClusterRow, Database, IntentRow, ProposalRow } from '../store/schema.ts';
import { ONLY_REVISION, type ApprovalStanding } from './decide-approval.ts';
import { subjectOf } from './effects.ts';
import { joined, requirementIn, requirementsOf } from './requirements.ts';

type ApprovedCluster = Pick<
  ClusterRow,
  'id' | 'slug' | 'git_settings' | 'connectivity_mode' | 'disabled_at' | 'delivery_epoch'
>;

/** An approval as it is stored, with what decisions about it depend on. */
export interface StoredApproval extends ApprovalStanding {
  readonly row: ApprovalRow;
  readonly intent: IntentRow;
  readonly cluster: ApprovedCluster;
  readonly reviewRows: readonly ApprovalReviewRow[];
}

/** Reads what decisions about approvals depend on, with a few queries however many they are. */
export async function approvalStandings(
  db: Kysely<Database>,
  rows: readonly ApprovalRow[],
  now: Date,
): Promise<StoredApproval[]> {
  if (rows.length === 0) return [];
  const ids = rows.map(({ intent_id: id }) => id);
  const reviews = await reviewsOfApprovals(
    db,
    rows.map(({ id }) => id),
  );
  const intentRows = await db.selectFrom('intents').selectAll().where('id', 'in', ids).execute();
  const intents = new Map(intentRows.map((intent) => [intent.id, intent]));
  const clusters = await clustersOf(db, [...new Set(rows.map((row) => row.cluster_id))]);
  const proposals = await proposalsOfIntents(db, ids);
  const current = await requirementsOf(db, intentRows.map(subjectOf));
  const requiredNow = new Map(intentRows.map((intent, index) => [intent.id, current[index]]));
  const holders = new Map<string, Holders>();
  for (const organizationId of new Set(rows.map((row) => row.organization_id))) {
    const names = rows.flatMap(({ id }) => (reviews.get(id) ?? []).map(({ actor }) => actor));
    holders.set(organizationId, await holdersOf(db, organizationId, [...new Set(names)]));
  }
  return rows.flatMap((row): StoredApproval[] => {
    const intent = intents.get(row.intent_id);
    const cluster = clusters.get(row.cluster_id);
    if (intent === undefined || cluster === undefined) return [];
    const reviewRows = reviews.get(row.id) ?? [];
    const then = requirementIn(row.required);
    return [
      {
        row,
        intent,
        cluster,
        reviewRows,
        state: row.state,
        endReason: row.reason,
        requestedBy: row.requested_by,
        requestedWith: row.requested_with,
        specHash: row.spec_hash,
        reviews: reviewRows.map(countedReview),
        // What was asked for at the request holds, and what is asked for now does too.
        required: joined([then, requiredNow.get(intent.id)]) ?? then,
        holders: holders.get(row.organization_id) ?? new Map(),
        isOver: row.expires_at <= now.toISOString(),
        intentState: intent.state,
        intentReason: intent.reason,
        proposal: proposalOf(intent, cluster, proposals.get(intent.id)),
        isDisabled: cluster.disabled_at !== null,
      },
    ];
  });
}

/** One of those above, which must have been read in this transaction. */
export async function approvalStanding(
  db: Kysely<Database>,
  row: ApprovalRow,
  now: Date,
): Promise<StoredApproval | undefined> {
  return (await approvalStandings(db, [row], now))[0];
}

/** Whether what a cluster is asked for is reviewed in Git, and approved there. */
export function isReviewedInGit(cluster: Pick<ClusterRow, 'connectivity_mode' | 'git_settings'>): boolean {
  return cluster.connectivity_mode === 'gitops' && gitSettingsOf(cluster).review === 'proposal';
}

/** The proposal that decides about an intent; undefined: its approval is asked for here. */
function proposalOf(
  intent: Pick<IntentRow, 'awaits_approval' | 'state'>,
  cluster: ApprovedCluster,
  proposal: ProposalRow | undefined,
): ApprovalStanding['proposal'] {
  // It is held until it is approved here, whatever the settings of its cluster have become.
  if (intent.awaits_approval === 1) return undefined;
  if (proposal !== undefined) return UNDECIDED.includes(proposal.state) ? { id: proposal.id } : undefined;
  return intent.state === 'accepted' && isReviewedInGit(cluster) ? { id: undefined } : undefined;
}

function countedReview({ kind, actor, roles, token_hash: token }: ApprovalReviewRow): CountedReview {
  return { kind, actor, token, revision: ONLY_REVISION, droppedAt: null, roles: JSON.parse(roles) as string[] };
}

async function clustersOf(db: Kysely<Database>, ids: readonly string[]): Promise<Map<string, ApprovedCluster>> {
  const rows = await db
    .selectFrom('clusters')
    .select(['id', 'slug', 'git_settings', 'connectivity_mode', 'disabled_at', 'delivery_epoch'])
    .where('id', 'in', ids)
    .execute();
  return new Map(rows.map((row) => [row.id, row]));
}
