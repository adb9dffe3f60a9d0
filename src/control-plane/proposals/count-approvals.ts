import type { RequiredApprovals } from '../git/git-settings.ts';

/** A review as far as it counts. In the order in which they were given. */
export interface CountedReview {
  readonly kind: 'approve' | 'reject' | 'comment';
  readonly actor: string;
  /** The actor's roles when it was given. */
  readonly roles: readonly string[];
  readonly revision: number;
  /** By which it was given: the hash of the actor's token. */
  readonly token: string;
  readonly droppedAt: string | null;
}

/** Who may come in now: with which token (its hash), and as what. By name. */
export type Holders = ReadonlyMap<string, { readonly token: string; readonly roles: readonly string[] }>;

export interface Counted {
  /** Who has approved, as it counts now. */
  readonly given: readonly string[];
  /** What is still missing: people, and how many of each role. */
  readonly missing: { readonly count: number; readonly roles: Readonly<Record<string, number>> };
  readonly isEnough: boolean;
}

/**
 * Counts approvals of one revision by people other than the author, each person once by the last thing that he or she said.
 * One whose token was deleted, or is another one since, does not count any more (told by the token, not by times, which
 * several replicas need not agree on); a role counts that the approver had then and still has.
 */
export function countApprovals(
  proposal: { readonly author: string; readonly revision: number; readonly reviews: readonly CountedReview[] },
  required: RequiredApprovals,
  holders: Holders,
): Counted {
  const last = new Map<string, CountedReview>();
  for (const review of proposal.reviews) {
    const isDecision = review.kind !== 'comment' && review.revision === proposal.revision;
    // A person's former token says nothing any more, whatever the clock said when it did.
    if (isDecision && holders.get(review.actor)?.token === review.token) last.set(review.actor, review);
  }
  const counting = [...last.values()].filter(
    ({ kind, actor, droppedAt }) => kind === 'approve' && droppedAt === null && actor !== proposal.author,
  );
  const roles: Record<string, number> = {};
  for (const [role, wanted] of Object.entries(required.roles ?? {})) {
    const have = counting.filter(
      (review) => review.roles.includes(role) && holders.get(review.actor)?.roles.includes(role) === true,
    );
    if (have.length < wanted) roles[role] = wanted - have.length;
  }
  const count = Math.max(0, required.count - counting.length);
  return {
    given: counting.map(({ actor }) => actor).sort(),
    missing: { count, roles },
    isEnough: count === 0 && Object.keys(roles).length === 0,
  };
}

/** What is missing, in words: `1 approval, 1 of role security`. */
export function missingText({ missing: { count, roles } }: Pick<Counted, 'missing'>): string {
  const ofRoles = Object.entries(roles).map(([role, wanted]) => `${wanted} of role ${role}`);
  const people = count === 0 ? [] : [`${count} ${count === 1 ? 'approval' : 'approvals'}`];
  return [...people, ...ofRoles].join(', ');
}
