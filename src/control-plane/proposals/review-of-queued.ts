import type { DeliveryItem, Review } from '../../delivery/delivery.ts';
import type { Clock } from '../../runtime/clock.ts';
import { gitSettingsOf } from '../git/git-settings.ts';
import type { QueuedIntent } from '../store/delivery-queue.ts';
import type { Held } from '../store/exclusive.ts';
import type { Store } from '../store/open-store.ts';
import { pinsIn, proposalsOfIntents } from '../store/proposals.ts';
import { countApprovals } from './count-approvals.ts';
import { isClosed } from './decide-review.ts';
import { standingsOf, type StoredStanding } from './standing.ts';
import { stillApproved } from './take-receipt.ts';

export interface ReviewedBatch {
  readonly items: readonly DeliveryItem[];
  /** Intents that are not to be delivered after all: their proposals wait for approvals again, or are closed. */
  readonly heldBack: readonly string[];
}

/**
 * Says of each rendered intent of a repository how it comes to the branch: at once, on a branch of its own, or merged as it
 * was approved. What was approved is counted once more, at the last moment before it is merged.
 */
export async function withReviews(
  deps: { readonly store: Store; readonly clock: Clock },
  batch: readonly QueuedIntent[],
  rendered: readonly DeliveryItem[],
  held: Held,
): Promise<ReviewedBatch> {
  const { store, clock } = deps;
  const queued = new Map(batch.map((intent) => [intent.id, intent]));
  const proposals = await proposalsOfIntents(store.db, [...queued.keys()]);
  const standings = await standingsOf(store.db, [...proposals.values()], clock.now());
  const byIntent = new Map(standings.map((standing) => [standing.row.intent_id, standing]));
  const items: DeliveryItem[] = [];
  const heldBack: string[] = [];
  for (const one of rendered) {
    const intent = queued.get(one.intent.id);
    if (intent === undefined) continue;
    // It was reviewed, where it had to be, before it was delivered for the first time.
    if (intent.handover !== null) {
      items.push(one);
      continue;
    }
    const seen = byIntent.get(intent.id);
    const isMerging = seen?.state === 'merging';
    const standing = isMerging
      ? await store.write(async (trx) => {
          await held.fence(trx);
          return await stillApproved(trx, seen.row, clock.now());
        })
      : seen;
    // Not approved any more, or taken back since the queue was read.
    const isTakenBack = standing !== undefined && standing.state !== 'merged' && isClosed(standing.state);
    if ((isMerging && standing === undefined) || isTakenBack) {
      heldBack.push(intent.id);
      continue;
    }
    const review = reviewOf(intent, standing);
    items.push(review === undefined ? one : { ...one, review });
  }
  return { items, heldBack };
}

/** The branch of an intent's proposal, without `refs/heads/`. */
export function proposalBranch(slug: string, intentId: string): string {
  return `proposals/${slug}/${intentId}`;
}

function reviewOf(intent: QueuedIntent, standing: StoredStanding | undefined): Review | undefined {
  if (standing === undefined) {
    // What the cluster's settings say counts for new intents: a proposal stays one to its end.
    const branch = proposalBranch(intent.slug, intent.id);
    return gitSettingsOf(intent).review === 'proposal' ? { kind: 'propose', branch } : undefined;
  }
  const { row } = standing;
  if (standing.state === 'merging') {
    const { given } = countApprovals(standing, standing.required, standing.holders);
    return { kind: 'merge', pins: pinsIn(row), approvedBy: given };
  }
  return {
    kind: 'propose',
    branch: row.branch,
    ...(row.head_commit === null ? {} : { replaces: row.head_commit }),
  };
}
