import type { Kysely, Updateable } from 'kysely';
import { dropApprovals, updateProposal } from '../store/proposals.ts';
import type { Database, IntentRow, ProposalReviewRow, ProposalRow } from '../store/schema.ts';
import { isClosed, type Decision } from './decide-review.ts';
import type { StoredStanding } from './standing.ts';
import { noteIntents, OF_CHANGED_INTENT } from '../store/changes.ts';
import { tellProposal, type ProposalNews } from './tell-proposal.ts';

/** Reasons of intents whose proposal was closed; they stand before the words. */
export const PROPOSAL_REJECTED = 'ProposalRejected';
export const PROPOSAL_SUPERSEDED = 'ProposalSuperseded';
export const PROPOSAL_FAILED = 'ProposalFailed';

/** What a change of a proposal comes from. */
export interface Cause {
  readonly at: string;
  readonly news?: ProposalNews;
  /** Who did it, where somebody did. */
  readonly actor?: string;
  /** Why, for people: kept with a proposal that it closes and with its intent. */
  readonly detail?: string;
  /** Stored with the decision's `review`. */
  readonly review?: Pick<ProposalReviewRow, 'id' | 'roles' | 'token_hash' | 'comment'>;
  /** Further columns that change with it. */
  readonly set?: Updateable<ProposalRow>;
}

/** Intents that may still be brought to the branch. */
const WAITING: readonly IntentRow['state'][] = ['accepted', 'proposed'];

/** Stores what was decided of a proposal with all that follows from it: reviews, its intent, the audit, the channel. */
export async function carryOut(
  trx: Kysely<Database>,
  { row, cluster, isHosted, isRendered, required }: StoredStanding,
  { state, revision, review, dropsApprovals }: Extract<Decision, { readonly kind: 'change' }>,
  cause: Cause,
): Promise<void> {
  const { at, actor, detail } = cause;
  if (review !== undefined) {
    if (cause.review === undefined || actor === undefined) throw new Error('a review is by somebody');
    await trx
      .insertInto('proposal_reviews')
      .values({
        ...cause.review,
        proposal_id: row.id,
        revision: row.revision,
        kind: review,
        actor,
        at,
        dropped_at: null,
      })
      .execute();
  }
  if (dropsApprovals === true) await dropApprovals(trx, row.id, at);
  const closes = isClosed(state) && !isClosed(row.state);
  await updateProposal(trx, row.id, {
    state,
    revision,
    updated_at: at,
    ...(state === row.state ? {} : { close_reason: isClosed(state) ? (detail ?? null) : null }),
    ...(closes ? { closed_at: at } : {}),
    // Nobody can look at what is not rendered yet.
    // What is rendered again needs what it needed before, and what is asked for now.
    ...(dropsApprovals === true ? { pins: '[]', required_approvals: JSON.stringify(required) } : {}),
    ...cause.set,
  });
  if (state !== row.state || dropsApprovals === true) {
    const hasCommit = cause.set?.pins !== undefined || (isRendered && dropsApprovals !== true);
    const next = intentState(state, { isHosted, isRendered: hasCommit });
    if (next !== undefined) await moveIntent(trx, row.intent_id, next, detail);
  }
  if (cause.news === undefined) return;
  const once = cause.review?.id ?? `${revision}/${at}`;
  await tellProposal(trx, row, cause.news, {
    slug: cluster.slug,
    at,
    once,
    ...(actor === undefined ? {} : { actor }),
    ...(detail === undefined ? {} : { detail }),
  });
}

interface IntentMove {
  readonly state: IntentRow['state'];
  /** Before the words of why. */
  readonly reason?: string;
}

/** Where the intent of a proposal stands; undefined: its receipt says it. `accepted` is what the delivery queue takes up. */
function intentState(
  state: ProposalRow['state'],
  { isHosted, isRendered }: { readonly isHosted: boolean; readonly isRendered: boolean },
): IntentMove | undefined {
  switch (state) {
    case 'open':
      return { state: isRendered ? 'proposed' : 'accepted' };
    case 'merging':
      return { state: isHosted ? 'proposed' : 'accepted' };
    case 'rejected':
      return { state: 'failed', reason: PROPOSAL_REJECTED };
    case 'superseded':
      return { state: 'superseded', reason: PROPOSAL_SUPERSEDED };
    case 'failed':
      return { state: 'failed', reason: PROPOSAL_FAILED };
    case 'merged':
      return undefined;
  }
}

async function moveIntent(
  trx: Kysely<Database>,
  intentId: string,
  { state, reason }: IntentMove,
  detail: string | undefined,
): Promise<void> {
  const text = reason === undefined ? null : `${reason}: ${detail ?? ''}`.replace(/: $/, '');
  const moved = await trx
    .updateTable('intents')
    .set({ state, reason: text })
    .where('id', '=', intentId)
    .where('state', 'in', WAITING)
    .returning(OF_CHANGED_INTENT)
    .execute();
  noteIntents(trx, moved);
}
