import { describe, expect, it } from 'vitest';
import {
  countGiven,
  decideApproval,
  type ApprovalAct,
  type ApprovalStanding,
} from '../../../src/control-plane/approvals/decide-approval.ts';
import type { CountedReview, Holders } from '../../../src/control-plane/proposals/count-approvals.ts';

const HOLDERS: Holders = new Map(
  ['anna', 'bert', 'carl'].map((name) => [name, { token: `t-${name}`, roles: name === 'carl' ? ['security'] : [] }]),
);

function standing(change: Partial<ApprovalStanding> = {}): ApprovalStanding {
  return {
    state: 'pending',
    endReason: null,
    requestedBy: 'anna',
    requestedWith: 't-anna',
    specHash: 'h',
    reviews: [],
    required: { count: 1 },
    holders: HOLDERS,
    isOver: false,
    intentState: 'accepted',
    intentReason: null,
    proposal: undefined,
    isDisabled: false,
    ...change,
  };
}

function act(actor: string, change: Partial<ApprovalAct> = {}): ApprovalAct {
  const roles = HOLDERS.get(actor)?.roles ?? [];
  return { kind: 'approve', actor, token: `t-${actor}`, roles, ...change };
}

function approval(actor: string): CountedReview {
  const roles = HOLDERS.get(actor)?.roles ?? [];
  return { kind: 'approve', actor, token: `t-${actor}`, roles, revision: 1, droppedAt: null };
}

const APPROVED = { kind: 'change', state: 'approved', isReview: true };
const PENDING = { kind: 'change', state: 'pending', isReview: true };

describe('an approval', () => {
  it.for<[string, Partial<ApprovalStanding>, ApprovalAct, object]>([
    ['is given', {}, act('bert'), APPROVED],
    ['waits for more', { required: { count: 2 } }, act('bert'), PENDING],
    ['is given by the last', { required: { count: 2 }, reviews: [approval('bert')] }, act('carl'), APPROVED],
    ['waits for a role', { required: { count: 1, roles: { security: 1 } } }, act('bert'), PENDING],
    ['is given by a role alone', { required: { count: 0, roles: { security: 1 } } }, act('carl'), APPROVED],
    [
      'said again changes nothing',
      { required: { count: 2 }, reviews: [approval('bert')] },
      act('bert'),
      { kind: 'nothing' },
    ],
    [
      'said again where less is asked for by now is enough',
      { reviews: [approval('bert')] },
      act('bert'),
      { kind: 'change', state: 'approved', isReview: false },
    ],
    ['is rejected', {}, act('bert', { kind: 'reject' }), { kind: 'change', state: 'rejected', isReview: true }],
    [
      'is rejected of a disabled cluster',
      { isDisabled: true },
      act('bert', { kind: 'reject' }),
      { kind: 'change', state: 'rejected', isReview: true },
    ],
    [
      'is taken back by who asked',
      {},
      act('anna', { kind: 'reject' }),
      { kind: 'change', state: 'rejected', isReview: true },
    ],
    ['of a merge with too few', { intentState: 'delivered' }, act('bert'), APPROVED],
  ])('%s', ([, change, by, expected]) => {
    expect(decideApproval(standing(change), by)).toEqual(expected);
  });

  it.for<[string, Partial<ApprovalStanding>, ApprovalAct, string, RegExp]>([
    ['who asked', {}, act('anna'), 'forbidden', /^anna asked for this and cannot approve it; somebody else has to$/],
    ['the token that asked', {}, act('bert', { token: 't-anna' }), 'forbidden', /^anna asked/],
    ['another spec', {}, act('bert', { specHash: 'x' }), 'conflict', /^the spec x was looked at, and it is h/],
    ['a disabled cluster', { isDisabled: true }, act('bert'), 'cluster_disabled', /enable it first/],
    ['too late', { isOver: true }, act('bert'), 'conflict', /not|nobody approved it in time/],
    ['its proposal', { proposal: { id: 'prop-1' } }, act('bert'), 'conflict', /approve prop-1 instead$/],
    ['what is being proposed', { proposal: { id: undefined } }, act('bert'), 'conflict', /being proposed/],
    ['superseded', { intentState: 'superseded' }, act('bert'), 'conflict', /newer intent about the same object/],
    [
      'cancelled',
      { intentState: 'failed', intentReason: 'Cancelled: by anna' },
      act('bert'),
      'conflict',
      /^its intent is failed \(Cancelled: by anna\)/,
    ],
    ['ready', { intentState: 'ready' }, act('bert'), 'conflict', /^its intent is ready/],
    [
      'approved by others',
      { state: 'approved', reviews: [approval('carl')] },
      act('bert'),
      'conflict',
      /^it is approved/,
    ],
    ['rejected', { state: 'rejected' }, act('bert'), 'conflict', /^it is rejected/],
    ['expired', { state: 'expired' }, act('bert'), 'conflict', /^it is expired/],
    ['withdrawn', { state: 'withdrawn' }, act('bert', { kind: 'reject' }), 'conflict', /^it is withdrawn/],
    [
      'of another spec by who approved',
      { state: 'approved', reviews: [approval('bert')] },
      act('bert', { specHash: 'x' }),
      'conflict',
      /look at it again$/,
    ],
  ])('is refused: %s', ([, change, by, code, message]) => {
    expect(decideApproval(standing(change), by)).toEqual({
      kind: 'refuse',
      code,
      message: expect.stringMatching(message),
    });
  });

  it('counts nobody whose token is gone or another one, nobody who lost the role, and never who asked', () => {
    const reviews = [approval('anna'), approval('bert'), approval('carl')];
    const required = { count: 3, roles: { security: 1 } };
    expect(countGiven(standing({ reviews, required }))).toMatchObject({
      given: ['bert', 'carl'],
      missing: { count: 1, roles: {} },
    });
    const later: Holders = new Map([
      ['bert', { token: 't-new', roles: [] }],
      ['carl', { token: 't-carl', roles: [] }],
    ]);
    expect(countGiven(standing({ reviews, required, holders: later }))).toMatchObject({
      given: ['carl'],
      missing: { count: 2, roles: { security: 1 } },
      isEnough: false,
    });
  });
});
