import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Condition } from '../../src/protocol/condition.ts';
import {
  changedConditions,
  findCondition,
  isTrue,
  removeCondition,
  setCondition,
} from '../../src/resources/conditions.ts';

const before = '2026-11-28T00:00:00.000Z';
const now = new Date('2026-11-28T01:00:00.000Z');
const ready: Condition = {
  type: 'Ready',
  status: 'True',
  reason: 'HelmReleaseReady',
  message: 'ok',
  lastTransitionTime: before,
};
const reconciling: Condition = { type: 'Reconciling', status: 'False', reason: 'Stable', lastTransitionTime: before };

describe('setCondition', () => {
  it('adds a condition at the end, with the time of now', () => {
    expect(setCondition([ready], { type: 'Degraded', status: 'False', reason: 'Healthy' }, now)).toEqual([
      ready,
      { type: 'Degraded', status: 'False', reason: 'Healthy', lastTransitionTime: now.toISOString() },
    ]);
  });

  it('moves the transition time when the status changes', () => {
    expect(setCondition([ready, reconciling], { type: 'Ready', status: 'False', reason: 'X' }, now)).toEqual([
      { type: 'Ready', status: 'False', reason: 'X', lastTransitionTime: now.toISOString() },
      reconciling,
    ]);
  });

  it('keeps the transition time when only reason, message or generation change', () => {
    const next = { ...ready, reason: 'HelmReleaseUpgraded', message: 'again', observedGeneration: 2 };
    const { lastTransitionTime: _time, ...given } = next;
    expect(setCondition([ready], given, now)).toEqual([next]);
  });

  it('gives the very same list back when nothing changes', () => {
    const list = [ready, reconciling];
    const { lastTransitionTime: _time, ...given } = ready;
    expect(setCondition(list, given, now)).toBe(list);
  });

  it('gives a condition without a transition time one', () => {
    const { lastTransitionTime: _time, ...bare } = ready;
    expect(setCondition([bare], bare, now)).toEqual([{ ...bare, lastTransitionTime: now.toISOString() }]);
  });

  it('keeps one condition a type, and never changes the list it was given', () => {
    const status = fc.constantFrom('True' as const, 'False' as const, 'Unknown' as const);
    const change = fc.record({ type: fc.constantFrom('A', 'B', 'C'), status, reason: fc.constantFrom('x', 'y') });
    fc.assert(
      fc.property(fc.array(change, { maxLength: 20 }), (changes) => {
        let list: readonly Condition[] = Object.freeze([]);
        let second = 0;
        for (const next of changes) {
          const old = findCondition(list, next.type);
          list = Object.freeze(setCondition(list, next, new Date(second)));
          const kept = old?.status === next.status ? old.lastTransitionTime : new Date(second).toISOString();
          expect(findCondition(list, next.type)).toEqual({ ...next, lastTransitionTime: kept });
          second += 1000;
        }
        expect(new Set(list.map(({ type }) => type)).size).toBe(list.length);
      }),
    );
  });
});

describe('changedConditions', () => {
  it('names what differs in status, reason or message, and what is new', () => {
    const changed = { ...reconciling, status: 'True' as const, reason: 'HelmReleaseUpgrading' };
    const added: Condition = { type: 'Stalled', status: 'True' };
    expect(changedConditions([ready, reconciling], [ready, changed, added])).toEqual([changed, added]);
    expect(changedConditions([ready], [{ ...ready, reason: 'Other' }])).toHaveLength(1);
    expect(changedConditions([ready], [{ ...ready, message: 'other' }])).toHaveLength(1);
  });

  it('does not count a time, a generation, or an empty text for an absent one', () => {
    expect(changedConditions([ready], [{ ...ready, lastTransitionTime: 'later', observedGeneration: 9 }])).toEqual([]);
    expect(changedConditions([reconciling], [{ ...reconciling, message: '' }])).toEqual([]);
    expect(changedConditions([ready, reconciling], [ready])).toEqual([]);
  });
});

describe('looking conditions up', () => {
  it('finds by type, also where there is no list yet', () => {
    expect(findCondition([ready, reconciling], 'Reconciling')).toBe(reconciling);
    expect(findCondition(undefined, 'Ready')).toBeUndefined();
    expect([isTrue([ready], 'Ready'), isTrue([reconciling], 'Reconciling'), isTrue([], 'Ready')]).toEqual([
      true,
      false,
      false,
    ]);
  });

  it('removes by type, and gives the very same list back when there was none', () => {
    const list = [ready, reconciling];
    expect(removeCondition(list, 'Ready')).toEqual([reconciling]);
    expect(removeCondition(list, 'Stalled')).toBe(list);
  });
});
