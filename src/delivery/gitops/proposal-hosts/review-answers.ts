import type { HostedProposal } from '../proposal-host.ts';

type Answer = HostedProposal['reviews'][number];

/** Reads a host's states of reviews by a table; comments and what is not in it are passed over, `none` takes an answer back. */
export function answersOf(
  reviews: readonly {
    readonly state: string;
    readonly actor: string | undefined;
    readonly at?: string | null | undefined;
  }[],
  table: Readonly<Record<string, Answer['kind'] | 'none'>>,
): readonly (Omit<Answer, 'kind'> & { readonly kind: Answer['kind'] | 'none' })[] {
  return reviews.flatMap(({ state, actor, at }) => {
    const kind = table[state];
    return kind === undefined || actor === undefined ? [] : [{ kind, actor, at: at ?? '' }];
  });
}

/** The newest answer of each person, oldest first; what was taken back is none. `reviews` are in the order of time. */
export function newestOfEach(reviews: ReturnType<typeof answersOf>): HostedProposal['reviews'] {
  const newest = new Map(reviews.map((review) => [review.actor, review]));
  return [...newest.values()].flatMap(({ kind, ...rest }) => (kind === 'none' ? [] : [{ kind, ...rest }]));
}
