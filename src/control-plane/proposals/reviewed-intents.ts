import type { Kysely } from 'kysely';
import type { Database, IntentRow, ProposalRow } from '../store/schema.ts';
import type { ReviewedIntent } from './take-receipt.ts';

/** A proposal with its intent, as far as a look at the repository needs them. */
export interface WatchedProposal {
  readonly proposal: ProposalRow;
  readonly intent: ReviewedIntent & Pick<IntentRow, 'record'>;
  /** The tree of the cluster's directory as it is known, and the revision of the proposal. */
  readonly seenAt: string;
  /** Open, rendered, and no request on a Git host tells what becomes of it. */
  readonly isWatchedHere: boolean;
  /** Its cluster reads from elsewhere now. */
  readonly isStray: boolean;
}

/** Undecided proposals with their intents. */
export async function reviewedIntents(
  db: Kysely<Database>,
  proposals: readonly ProposalRow[],
): Promise<WatchedProposal[]> {
  if (proposals.length === 0) return [];
  const rows = await db
    .selectFrom('intents')
    .innerJoin('clusters', 'clusters.id', 'intents.cluster_id')
    .selectAll('intents')
    .select([
      'clusters.slug',
      'clusters.delivery_epoch',
      'clusters.repository_id',
      'clusters.connectivity_mode',
      'clusters.desired_revision',
    ])
    .where(
      'intents.id',
      'in',
      proposals.map((proposal) => proposal.intent_id),
    )
    .execute();
  const byId = new Map(rows.map((row) => [row.id, row]));
  return proposals.flatMap((proposal): WatchedProposal[] => {
    const intent = byId.get(proposal.intent_id);
    if (intent === undefined) return [];
    const isStray = intent.connectivity_mode !== 'gitops' || intent.repository_id !== proposal.repository_id;
    const isWatchedHere =
      !isStray && proposal.state === 'open' && proposal.pins !== '[]' && proposal.host_number === null;
    const seenAt = `${proposal.revision} ${intent.desired_revision}`;
    return [{ proposal, intent, seenAt, isWatchedHere, isStray }];
  });
}
