import type { RequiredApprovals } from '../git/git-settings.ts';
import { countApprovals, type CountedReview, type Holders } from '../proposals/count-approvals.ts';
import type { ApprovalState, IntentState } from '../store/schema.ts';

/** What is approved is pinned: there is one revision of it. */
export const ONLY_REVISION = 1;

/** An approval that was asked for, with all that a decision about it depends on. */
export interface ApprovalStanding {
  readonly state: ApprovalState;
  /** Why it ended; null: it has not, or was approved. */
  readonly endReason: string | null;
  readonly requestedBy: string;
  /** Hash of the token that asked; null: not known. */
  readonly requestedWith: string | null;
  readonly specHash: string;
  readonly reviews: readonly CountedReview[];
  readonly required: RequiredApprovals;
  readonly holders: Holders;
  /** Its time has passed. */
  readonly isOver: boolean;
  readonly intentState: IntentState;
  /** Why the intent is where it is; null: no reason. */
  readonly intentReason: string | null;
  /** It is approved with its proposal; `id`: once it is proposed. */
  readonly proposal: { readonly id: string | undefined } | undefined;
  /** Nothing is approved for a cluster that is disabled. */
  readonly isDisabled: boolean;
}

/** What a person does. `specHash`: of the spec that he or she has seen. */
export interface ApprovalAct {
  readonly kind: 'approve' | 'reject';
  readonly actor: string;
  readonly roles: readonly string[];
  /** The hash of the token that he or she came in with. */
  readonly token: string;
  readonly specHash?: string | undefined;
}

export type ApprovalDecision =
  | { readonly kind: 'nothing' }
  | { readonly kind: 'refuse'; readonly code: 'conflict' | 'forbidden' | 'cluster_disabled'; readonly message: string }
  | {
      readonly kind: 'change';
      readonly state: 'pending' | 'approved' | 'rejected';
      /** Stored as a review: false where the same person said it before. */
      readonly isReview: boolean;
    };

/** States of an intent of which something may still become. Delivered: it was merged with too few approvals. */
const OPEN_INTENTS: ReadonlySet<IntentState> = new Set(['accepted', 'proposed', 'delivered', 'applied']);

/**
 * The one place that decides where an approval goes:
 *
 * ```
 *           enough approvals, or its proposal was merged with enough
 * pending ─────────────────────────────────────────────────────────► approved
 *    ├─ reject ─► rejected          (its intent fails)
 *    ├─ 7 days ─► expired           (its intent fails)
 *    └─ its intent ended otherwise: cancelled, superseded, refused ─► withdrawn
 * approved ─ its operation is cancelled ──────────────────────────► withdrawn
 * ```
 *
 * From where else it has come nothing leads away. Whether the statement of what is approved is good in time is another matter.
 */
export function decideApproval(standing: ApprovalStanding, act: ApprovalAct): ApprovalDecision {
  const { state, requestedBy, requestedWith, proposal } = standing;
  if (act.specHash !== undefined && act.specHash !== standing.specHash) {
    return refuse(
      'conflict',
      `the spec ${act.specHash} was looked at, and it is ${standing.specHash}; look at it again`,
    );
  }
  if (state !== 'pending') return ofDecided(standing, act);
  // Whoever asked may take it back.
  if (act.kind === 'approve' && (act.actor === requestedBy || act.token === requestedWith)) {
    return refuse('forbidden', `${requestedBy} asked for this and cannot approve it; somebody else has to`);
  }
  if (!OPEN_INTENTS.has(standing.intentState)) {
    const why = standing.intentReason === null ? '' : ` (${standing.intentReason})`;
    const newer = standing.intentState === 'superseded' ? '; a newer intent about the same object took its place' : '';
    return refuse('conflict', `its intent is ${standing.intentState}${why}${newer}; ask for it anew if it is wanted`);
  }
  if (standing.isOver) return refuse('conflict', 'nobody approved it in time; ask for it anew');
  if (proposal !== undefined) {
    const how = proposal.id === undefined ? 'it is being proposed; look in a moment' : `approve ${proposal.id} instead`;
    return refuse('conflict', `it is approved with its proposal: ${how}`);
  }
  if (act.kind === 'reject') return { kind: 'change', state: 'rejected', isReview: true };
  if (standing.isDisabled) return refuse('cluster_disabled', 'its cluster is disabled; enable it first');
  return approve(standing, act);
}

function approve(standing: ApprovalStanding, act: ApprovalAct): ApprovalDecision {
  const isReview = !hasApproved(standing, act);
  const given: CountedReview = { ...act, kind: 'approve', revision: ONLY_REVISION, droppedAt: null };
  const reviews = isReview ? [...standing.reviews, given] : standing.reviews;
  const { isEnough } = countGiven({ ...standing, reviews });
  if (!isReview && !isEnough) return { kind: 'nothing' };
  return { kind: 'change', state: isEnough ? 'approved' : 'pending', isReview };
}

/** The same act again is no fault. */
function ofDecided(standing: ApprovalStanding, act: ApprovalAct): ApprovalDecision {
  const { state, endReason, reviews } = standing;
  const isDone =
    (act.kind === 'approve' && state === 'approved' && hasApproved(standing, act)) ||
    (act.kind === 'reject' &&
      state === 'rejected' &&
      reviews.some(({ kind, actor }) => kind === 'reject' && actor === act.actor));
  return isDone
    ? { kind: 'nothing' }
    : refuse(
        'conflict',
        `it is ${state}${endReason === null ? '' : ` (${endReason})`}; ask for it anew if it is wanted`,
      );
}

/** Who has approved as it counts now, and what is missing. */
export function countGiven(
  standing: Pick<ApprovalStanding, 'requestedBy' | 'requestedWith' | 'reviews' | 'required' | 'holders'>,
): ReturnType<typeof countApprovals> {
  const { requestedBy: author, requestedWith, required, holders } = standing;
  const reviews = standing.reviews.filter(({ token }) => token !== requestedWith);
  return countApprovals({ author, revision: ONLY_REVISION, reviews }, required, holders);
}

function hasApproved({ reviews, holders }: ApprovalStanding, { actor, token }: ApprovalAct): boolean {
  const own = reviews.findLast((one) => one.actor === actor && one.token === token && one.kind !== 'comment');
  return own?.kind === 'approve' && holders.get(actor)?.token === token;
}

function refuse(code: 'conflict' | 'forbidden' | 'cluster_disabled', message: string): ApprovalDecision {
  return { kind: 'refuse', code, message };
}
