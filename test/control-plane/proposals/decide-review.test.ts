import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { countApprovals, type CountedReview } from '../../../src/control-plane/proposals/count-approvals.ts';
import {
  decideReview,
  isClosed,
  type ReviewAct,
  type ReviewEvent,
  type Standing,
} from '../../../src/control-plane/proposals/decide-review.ts';
import type { ProposalState } from '../../../src/control-plane/store/schema.ts';

const PEOPLE = ['author', 'anna', 'bert', 'carl'] as const;
const ROLES = { author: ['security'], anna: ['security'], bert: [], carl: ['platform'] } as const;
const START: Standing = {
  state: 'open',
  revision: 1,
  isRendered: true,
  author: 'author',
  reviews: [],
  required: { count: 2, roles: { security: 1 } },
  merge: 'automatic',
  isDisabled: false,
  waitsForHost: false,
  holders: new Map(PEOPLE.map((name) => [name, { token: `${name} 0`, roles: ROLES[name] }])),
};

/** As it would be stored after one thing more; what is refused changes nothing. */
function after(standing: Standing, what: ReviewAct | ReviewEvent): Standing {
  const decision = decideReview(standing, what);
  if (decision.kind !== 'change') return standing;
  const { state, revision, review, dropsApprovals } = decision;
  const dropped = standing.reviews.map((one): CountedReview =>
    dropsApprovals === true && one.kind === 'approve' ? { ...one, droppedAt: 'then' } : one,
  );
  const given =
    review !== undefined && 'actor' in what
      ? [{ ...what, kind: review, revision: standing.revision, droppedAt: null }]
      : [];
  const isRendered = what.kind === 'rendered' ? true : what.kind === 'moved' ? false : standing.isRendered;
  return { ...standing, state, revision, isRendered, reviews: [...dropped, ...given] };
}

// What closes a proposal is rare, so that long lives are tried too.
const acts = fc.record({
  kind: fc.oneof(
    { weight: 12, arbitrary: fc.constantFrom<ReviewAct['kind']>('approve', 'merge', 'comment') },
    { weight: 1, arbitrary: fc.constantFrom<ReviewAct['kind']>('reject', 'supersede') },
  ),
  by: fc.constantFrom(...PEOPLE),
  revision: fc.option(fc.integer({ min: 1, max: 3 }), { nil: undefined, freq: 3 }),
});
const events = fc.oneof(
  {
    weight: 12,
    arbitrary: fc.constantFrom<ReviewEvent>(
      { kind: 'recheck' },
      { kind: 'moved' },
      { kind: 'rendered', isOther: true },
      { kind: 'rendered', isOther: false },
    ),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom<ReviewEvent>(
      { kind: 'overtaken', isDelivered: false },
      { kind: 'overtaken', isDelivered: true },
      { kind: 'refused', isOlder: true },
      { kind: 'closed' },
    ),
  },
);
const settings = fc.record({
  required: fc.constantFrom<Standing['required']>(
    { count: 1 },
    { count: 2, roles: { security: 1 } },
    { count: 3, roles: { platform: 1 } },
  ),
  merge: fc.constantFrom<Standing['merge']>('automatic', 'manual'),
  isDisabled: fc.boolean(),
});
const tokens = fc.record({ remade: fc.constantFrom(...PEOPLE) });
const steps = fc.array(fc.oneof({ weight: 8, arbitrary: acts }, { weight: 5, arbitrary: events }, settings, tokens), {
  maxLength: 40,
});

/** Approvals by the rules, counted by other code than the one that is tried. */
function isApproved({ reviews, revision, author, required, holders }: Standing): boolean {
  const people = PEOPLE.filter((name) => {
    if (name === author) return false;
    const said = reviews.filter((one) => one.actor === name && one.kind !== 'comment' && one.revision === revision);
    const last = said.filter(({ token }) => token === holders.get(name)?.token).at(-1);
    return last?.kind === 'approve' && last.droppedAt === null;
  });
  const ofRole = (role: string): number =>
    people.filter((name) => holders.get(name)?.roles.includes(role) === true).length;
  return (
    people.length >= required.count &&
    Object.entries(required.roles ?? {}).every(([role, count]) => ofRole(role) >= count)
  );
}

describe('what becomes of a proposal', () => {
  it('never merges without enough approvals of this very revision by others, in whatever order things happen', () => {
    fc.assert(
      fc.property(steps, (all) => {
        let standing = START;
        all.forEach((step, index) => {
          const before = standing;
          if ('required' in step) standing = { ...standing, ...step };
          else if ('remade' in step) {
            const entry = { token: `${step.remade} ${index + 1}`, roles: ROLES[step.remade] };
            standing = { ...standing, holders: new Map(standing.holders).set(step.remade, entry) };
          } else if ('by' in step) {
            const { by: actor, ...act } = step;
            const token = standing.holders.get(actor)?.token ?? 'none';
            standing = after(standing, { ...act, actor, roles: ROLES[actor], token });
          } else standing = after(standing, step);
          // Into `merging` only by enough approvals, and out of it at the recheck that stands before each merge.
          if (before.state !== 'merging' && standing.state === 'merging') {
            expect([isApproved(standing), standing.isRendered, standing.isDisabled]).toEqual([true, true, false]);
          }
          if (standing.state === 'merging') {
            const last = after(standing, { kind: 'recheck' });
            expect(last.state === 'merging').toBe(isApproved(standing) && !standing.isDisabled);
          }
          // From a closed one nothing leads away, and revisions only grow.
          if (isClosed(before.state)) expect(standing.state).toBe(before.state);
          expect(standing.revision).toBeGreaterThanOrEqual(before.revision);
          expect(standing.state).not.toBe('merged');
        });
      }),
      { numRuns: 3000 },
    );
  });

  it('is merged only by what the branch holds', () => {
    for (const state of ['open', 'merging', 'rejected', 'superseded', 'failed'] satisfies ProposalState[]) {
      expect(decideReview({ ...START, state }, { kind: 'landed' })).toMatchObject({ kind: 'change', state: 'merged' });
    }
    expect(decideReview({ ...START, state: 'merged' }, { kind: 'landed' })).toEqual({ kind: 'nothing' });
  });

  it('counts no approval of a token that was deleted, or made anew since', () => {
    const given = {
      kind: 'approve',
      actor: 'anna',
      roles: ['security'],
      revision: 1,
      token: 'one',
      droppedAt: null,
    } as const;
    const count = (holders: Standing['holders']) =>
      countApprovals({ author: 'author', revision: 1, reviews: [given] }, { count: 1 }, holders).given;
    expect(count(new Map([['anna', { token: 'one', roles: [] }]]))).toEqual(['anna']);
    expect(count(new Map([['anna', { token: 'another', roles: [] }]]))).toEqual([]);
    expect(count(new Map())).toEqual([]);
  });

  it('can not be taken back while it merges, except by what the branch says', () => {
    const merging: Standing = { ...START, state: 'merging' };
    for (const kind of ['reject', 'supersede', 'approve'] as const) {
      const act = { kind, actor: 'carl', roles: [], token: 'carl 0' };
      expect(decideReview(merging, act)).toMatchObject({ kind: 'refuse', code: 'conflict' });
    }
    expect(decideReview(merging, { kind: 'overtaken', isDelivered: false })).toEqual({ kind: 'nothing' });
    expect(decideReview(merging, { kind: 'overtaken', isDelivered: true })).toMatchObject({ state: 'superseded' });
    expect(decideReview(merging, { kind: 'moved' })).toEqual({
      kind: 'change',
      state: 'open',
      revision: 2,
      dropsApprovals: true,
    });
  });
});
