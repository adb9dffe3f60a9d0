import type { RequiredApprovals } from '../git/git-settings.ts';
import type { ProposalState } from '../store/schema.ts';
import { countApprovals, missingText, type CountedReview, type Holders } from './count-approvals.ts';

/** A proposal with all that a decision about it depends on. */
export interface Standing {
  readonly state: ProposalState;
  readonly revision: number;
  /** There is a commit of this revision to look at. */
  readonly isRendered: boolean;
  readonly author: string;
  readonly reviews: readonly CountedReview[];
  readonly required: RequiredApprovals;
  readonly merge: 'automatic' | 'manual';
  /** Nothing is merged for a cluster that is disabled. */
  readonly isDisabled: boolean;
  /** Its pull or merge request is not open yet on its Git host. */
  readonly waitsForHost: boolean;
  readonly holders: Holders;
}

/** What a person does. `revision`: the one that he or she has seen. */
export interface ReviewAct {
  readonly kind: 'approve' | 'reject' | 'comment' | 'merge' | 'supersede';
  readonly actor: string;
  readonly roles: readonly string[];
  /** The hash of the token that he or she came in with. */
  readonly token: string;
  readonly revision?: number | undefined;
}

/** What happens to it from elsewhere. */
export type ReviewEvent =
  /** Settings, tokens or the cluster's state may have changed: what is due is done, what is not approved any more goes back. */
  | { readonly kind: 'recheck' }
  /** What it would change is not any more what it was rendered from, or would be rendered differently now. */
  | { readonly kind: 'moved' }
  /** Rendered; `isOther`: as something else than what was there to be looked at. */
  | { readonly kind: 'rendered'; readonly isOther: boolean }
  /** The branch holds it. */
  | { readonly kind: 'landed' }
  /** A newer intent of the object is proposed, or delivered: then this one cannot come to the branch any more. */
  | { readonly kind: 'overtaken'; readonly isDelivered: boolean }
  /** It will never be merged: refused by the Git host, not renderable any more, or older than what the branch has. */
  | { readonly kind: 'refused'; readonly isOlder: boolean }
  /** Closed on its Git host. */
  | { readonly kind: 'closed' };

export type Decision =
  | { readonly kind: 'nothing' }
  | { readonly kind: 'refuse'; readonly code: 'conflict' | 'forbidden' | 'cluster_disabled'; readonly message: string }
  | {
      readonly kind: 'change';
      readonly state: ProposalState;
      readonly revision: number;
      /** Stored as a review. */
      readonly review?: CountedReview['kind'];
      /** Approvals so far no longer count. */
      readonly dropsApprovals?: true;
    };

const CLOSED: ReadonlySet<ProposalState> = new Set(['merged', 'rejected', 'superseded', 'failed']);

/** Whether nothing becomes of it any more. */
export function isClosed(state: ProposalState): boolean {
  return CLOSED.has(state);
}

/**
 * The one place that decides where a proposal goes (the states are drawn at `ProposalState`):
 *
 * ```
 *             enough approvals (or merge)            landed
 *   ┌────► open ───────────────────────────► merging ──────► merged
 *   │       │ ▲                                │  │
 *   │       │ └─ moved, or not approved any more  └─ refused ─► failed
 *   └ moved ┘
 *           ├─ reject, closed ─► rejected
 *           ├─ supersede, overtaken ─► superseded
 *           └─ refused ─► failed
 * ```
 *
 * While it merges nobody can take it back, since its commit may be on the branch already. From a closed one nothing leads
 * away, except that what the branch holds is merged, whatever was said of it.
 */
export function decideReview(standing: Standing, what: ReviewAct | ReviewEvent): Decision {
  switch (what.kind) {
    case 'approve':
    case 'reject':
    case 'comment':
    case 'merge':
    case 'supersede':
      return decideAct(standing, what);
    case 'landed':
      return standing.state === 'merged' ? { kind: 'nothing' } : to(standing, 'merged');
    case 'moved':
    case 'rendered':
    case 'overtaken':
    case 'refused':
    case 'closed':
    case 'recheck':
      return isClosed(standing.state) ? { kind: 'nothing' } : decideEvent(standing, what);
  }
}

function decideEvent(standing: Standing, event: Exclude<ReviewEvent, { readonly kind: 'landed' }>): Decision {
  switch (event.kind) {
    case 'moved':
      // Moved again before it was rendered: nobody has seen that revision.
      if (standing.state === 'open' && !standing.isRendered) return { kind: 'nothing' };
      return { ...to(standing, 'open'), revision: standing.revision + 1, dropsApprovals: true };
    case 'rendered':
      if (!event.isOther || !standing.isRendered) return to(standing, 'open');
      return { ...to(standing, 'open'), revision: standing.revision + 1, dropsApprovals: true };
    case 'overtaken':
      // What is being merged stays below the newer one, which is rendered again on top of it.
      return standing.state === 'merging' && !event.isDelivered ? { kind: 'nothing' } : to(standing, 'superseded');
    case 'refused':
      return to(standing, event.isOlder ? 'superseded' : 'failed');
    case 'closed':
      return to(standing, 'rejected');
    case 'recheck':
      return recheck(standing);
  }
}

function recheck(standing: Standing): Decision {
  const { isEnough } = countApprovals(standing, standing.required, standing.holders);
  if (standing.state === 'merging')
    return isEnough && !standing.isDisabled ? { kind: 'nothing' } : to(standing, 'open');
  return isEnough && mergesByItself(standing) ? to(standing, 'merging') : { kind: 'nothing' };
}

function decideAct(standing: Standing, act: ReviewAct): Decision {
  const { state, revision, author } = standing;
  if (act.kind === 'comment') return { ...to(standing, state), review: 'comment' };
  if (isClosed(state)) return ofClosed(standing, act);
  if (act.actor === author && (act.kind === 'approve' || act.kind === 'reject')) {
    const other = act.kind === 'reject' ? 'withdraw it instead (supersede)' : 'somebody else has to';
    const message = `${author} asked for this intent and cannot ${act.kind} its proposal; ${other}`;
    return { kind: 'refuse', code: 'forbidden', message };
  }
  if (act.revision !== undefined && act.revision !== revision) {
    return conflict(`revision ${act.revision} was looked at, and the current one is ${revision}; look at it again`);
  }
  if (state === 'merging') {
    if (act.kind === 'merge' || hasApproved(standing, act)) return { kind: 'nothing' };
    return conflict('it is being merged, and its commit may be on the branch already');
  }
  if (act.kind === 'supersede') return to(standing, 'superseded');
  if (act.kind === 'reject') return { ...to(standing, 'rejected'), review: 'reject' };
  if (!standing.isRendered) {
    return conflict(`revision ${revision} is being rendered; look at it in a moment`);
  }
  return act.kind === 'approve' ? approve(standing, act) : merge(standing);
}

/** An act again that closed it is no fault. */
function ofClosed(standing: Standing, act: ReviewAct): Decision {
  const { state } = standing;
  const isDone =
    (act.kind === 'merge' && state === 'merged') ||
    (act.kind === 'supersede' && state === 'superseded') ||
    (act.kind === 'reject' &&
      state === 'rejected' &&
      standing.reviews.some((one) => one.kind === 'reject' && one.actor === act.actor)) ||
    (act.kind === 'approve' && state === 'merged' && hasApproved(standing, act));
  return isDone ? { kind: 'nothing' } : conflict(`it is ${state}`);
}

function approve(standing: Standing, act: ReviewAct): Decision {
  const isNew = !hasApproved(standing, act);
  const given: CountedReview = { ...act, kind: 'approve', revision: standing.revision, droppedAt: null };
  const reviews = isNew ? [...standing.reviews, given] : standing.reviews;
  const { isEnough } = countApprovals({ ...standing, reviews }, standing.required, standing.holders);
  const state = isEnough && mergesByItself(standing) ? 'merging' : 'open';
  if (!isNew) return state === 'open' ? { kind: 'nothing' } : to(standing, state);
  return { ...to(standing, state), review: 'approve' };
}

function merge(standing: Standing): Decision {
  const counted = countApprovals(standing, standing.required, standing.holders);
  if (!counted.isEnough) return conflict(`revision ${standing.revision} lacks ${missingText(counted)}`);
  if (standing.isDisabled) {
    const message = 'the cluster is disabled; enable it first';
    return { kind: 'refuse', code: 'cluster_disabled', message };
  }
  if (standing.waitsForHost) return conflict('its request is not open yet on its Git host; try again in a moment');
  return to(standing, 'merging');
}

/** Whether what this person says now was said already: an approval of this revision that counts. */
function hasApproved({ reviews, revision, holders }: Standing, { actor, kind }: ReviewAct): boolean {
  const token = holders.get(actor)?.token;
  const said = reviews.filter((one) => one.actor === actor && one.token === token && one.revision === revision);
  const own = said.findLast((one) => one.kind !== 'comment');
  return kind === 'approve' && own?.kind === 'approve' && own.droppedAt === null;
}

function mergesByItself({ merge: how, isRendered, isDisabled, waitsForHost, required }: Standing): boolean {
  // Without any approval asked for, somebody has to say it.
  return how === 'automatic' && isRendered && !isDisabled && !waitsForHost && required.count > 0;
}

function to({ revision }: Standing, state: ProposalState): Extract<Decision, { readonly kind: 'change' }> {
  return { kind: 'change', state, revision };
}

function conflict(message: string): Decision {
  return { kind: 'refuse', code: 'conflict', message };
}
