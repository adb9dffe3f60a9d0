import type { RequiredApprovals } from '../git-settings.ts';

/** A review as far as it counts. In the order in which they were given. */
export interface CountedReview {
  readonly kind: 'approve' | 'reject' | 'comment';
  readonly actor: string;
  /** The actor's roles when it was given. */
  readonly roles: readonly string[];
  readonly revision: number;
  readonly at: string;
  readonly droppedAt: string | null;
}

/** Who may come in now: since when, and as what. By name. */
export type Holders = ReadonlyMap<string, { readonly since: string; readonly roles: readonly string[] }>;

export interface Counted {
  /** Who has approved, as it counts now. */
  readonly given: readonly string[];
  /** What is still missing: people, and how many of each role. */
  readonly missing: { readonly count: number; readonly roles: Readonly<Record<string, number>> };
  readonly isEnough: boolean;
}

/**
 * Counts approvals of one revision by people other than the author, each person once by the last thing that he or she said.
 * One whose token was deleted, or is another one since, does not count any more; a role counts that the approver had then
 * and still has.
 */
export function countApprovals(
  proposal: { readonly author: string; readonly revision: number; readonly reviews: readonly CountedReview[] },
  required: RequiredApprovals,
  holders: Holders,
): Counted {
  const last = new Map<string, CountedReview>();
  for (const review of proposal.reviews) {
    if (review.kind !== 'comment' && review.revision === proposal.revision) last.set(review.actor, review);
  }
  const counting = [...last.values()].filter(
    ({ kind, actor, at, droppedAt }) =>
      kind === 'approve' && droppedAt === null && actor !== proposal.author && isStillThere(holders.get(actor), at),
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

function isStillThere(holder: { readonly since: string } | undefined, at: string): boolean {
  return holder !== undefined && holder.since <= at;
}
