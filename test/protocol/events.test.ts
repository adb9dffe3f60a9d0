import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Condition } from '../../src/protocol/condition.ts';
import { auditEntryFor } from '../../src/protocol/durable-entry.ts';
import {
  conditionTransitionKey,
  directEventKey,
  eventFingerprint,
  heartbeatKey,
} from '../../src/protocol/event-key.ts';
import { eventOrderKey } from '../../src/protocol/event-order.ts';
import { EVENT_KINDS, type EventKind } from '../../src/protocol/event.ts';

const ref = {
  apiVersion: 'apps.service.io/v1alpha1',
  kind: 'ApplicationInstance',
  namespace: 'shop',
  name: 'podinfo',
  uid: 'u-1',
  generation: 4,
};
const ready: Condition = { type: 'Ready', status: 'True', reason: 'HelmReleaseReady', message: 'ok' };

describe('event keys', () => {
  it('are those of the specification', () => {
    expect(conditionTransitionKey(ref, ready)).toBe(
      'condition/apps.service.io/v1alpha1/ApplicationInstance/shop/podinfo/u-1/Ready/True@4',
    );
    expect(directEventKey('CredentialRotated', 'u-1', 'Authenticated')).toBe('CredentialRotated/u-1/Authenticated');
    expect(heartbeatKey('u-1', '2026-11-28T00:00:00Z')).toBe('ClusterHeartbeat/u-1@2026-11-28T00:00:00Z');
  });

  it('have an empty segment for what is absent', () => {
    expect(conditionTransitionKey({ apiVersion: 'v1', kind: 'Cluster', name: 'eu' }, ready)).toBe(
      'condition/v1/Cluster//eu//Ready/True@',
    );
  });
});

describe('eventFingerprint', () => {
  const transition = { ...ready, lastTransitionTime: '2026-11-28T00:00:00Z' };

  it('is the same for a replay, whatever the order of its conditions and its own timestamp', () => {
    const other: Condition = { type: 'Connected', status: 'True' };
    expect(eventFingerprint({ conditions: [transition, other] })).toBe(
      eventFingerprint({ conditions: [other, transition] }),
    );
    expect(eventFingerprint({ conditions: [transition] })).toMatch(/^[0-9a-f]{64}$/);
  });

  it.each([
    ['another transition', { lastTransitionTime: '2026-11-28T00:00:01Z' }],
    ['another reason', { reason: 'HelmReleaseUpgraded' }],
    ['another message', { message: 'ok again' }],
  ])('differs for %s under the same key', (_name, change) => {
    expect(eventFingerprint({ conditions: [{ ...transition, ...change }] })).not.toBe(
      eventFingerprint({ conditions: [transition] }),
    );
  });

  it('cannot be made equal by moving text between reason and message', () => {
    expect(eventFingerprint({ conditions: [{ ...ready, reason: 'a', message: 'b' }] })).not.toBe(
      eventFingerprint({ conditions: [{ ...ready, reason: 'a","b', message: '' }] }),
    );
  });
});

describe('eventOrderKey', () => {
  const numbered = (sequence: string) => eventOrderKey({ sequence, resourceRef: ref }, {});
  const timed = (generation: number, lastTransitionTime?: string, timestamp?: string) =>
    eventOrderKey(
      { resourceRef: { ...ref, generation }, ...(timestamp === undefined ? {} : { timestamp }) },
      lastTransitionTime === undefined ? {} : { lastTransitionTime },
    );

  it('orders by lease transitions, then by counter, as numbers', () => {
    fc.assert(
      fc.property(fc.nat(), fc.nat(), fc.nat(), fc.nat(), (a, b, c, d) => {
        const expected = Math.sign(a - c || b - d);
        const [left, right] = [numbered(`${a}.${b}`), numbered(`${c}.${d}`)];
        expect(left < right ? -1 : left > right ? 1 : 0).toBe(expected);
      }),
    );
    expect(numbered('007.01')).toBe(numbered('7.1'));
    expect(numbered(`${'9'.repeat(15)}.${'9'.repeat(15)}`) > numbered('1.1')).toBe(true);
  });

  it('orders without a sequence by generation, then transition, then timestamp', () => {
    const keys = [
      timed(1),
      timed(1, '2026-11-28T00:00:00Z'),
      timed(1, '2026-11-28T00:00:00.000000001Z'),
      timed(1, '2026-11-28T02:00:00.5+02:00', '2026-11-28T00:00:01Z'),
      timed(1, '2026-11-28T00:00:00.5Z', '2026-11-28T00:00:02Z'),
      timed(2, '2025-01-01T00:00:00Z'),
      timed(10),
    ];
    expect(keys.toSorted()).toEqual(keys);
    expect(new Set(keys).size).toBe(keys.length);
  });

  it('puts every numbered event behind every one without a number', () => {
    expect(numbered('0.0') > timed(9_007_199_254_740_991, '9999-12-31T23:59:59Z')).toBe(true);
  });

  it('keeps times whose offset leads out of the years with four digits first and last', () => {
    const last = timed(1, '9999-12-31T23:59:59-23:59');
    expect(last > timed(1, '9999-12-31T23:59:58Z')).toBe(true);
    expect(last).toHaveLength(timed(1).length);
    expect(timed(1, '0000-01-01T00:00:00+23:59')).toBe(timed(1));
  });

  it('takes times that no calendar has, and leap seconds', () => {
    expect(timed(1, '2026-99-99T99:99:99Z')).toBe(timed(1));
    expect(timed(1, '2016-12-31T23:59:60Z') > timed(1, '2016-12-31T23:59:58Z')).toBe(true);
  });
});

describe('auditEntryFor', () => {
  const transition = (kind: string, conditions: Condition[]) =>
    auditEntryFor({ kind: 'ConditionTransition', resourceRef: { ...ref, kind }, conditions });

  it.each(['Succeeded', 'Failed', 'Running', 'Cancelled', 'Blocked', 'Connected', 'Disconnected'])(
    'makes an entry of %s/True and of no other status',
    (type) => {
      expect(transition('Operation', [{ type, status: 'True', reason: 'R', message: 'M' }])).toEqual({
        summary: `${type} (R): M`,
        reason: 'R',
      });
      expect(transition('Operation', [{ type, status: 'False', reason: 'R' }])).toBeUndefined();
      expect(transition('Operation', [{ type, status: 'Unknown', reason: 'R' }])).toBeUndefined();
    },
  );

  it('makes none of Ready, and none about another kind', () => {
    expect(transition('ApplicationInstance', [ready])).toBeUndefined();
    expect(transition('Pod', [{ type: 'Failed', status: 'True' }])).toBeUndefined();
  });

  it('summarises the matching conditions only', () => {
    expect(transition('Cluster', [ready, { type: 'Connected', status: 'True' }])).toEqual({ summary: 'Connected' });
  });

  it.each(Object.keys(EVENT_KINDS) as EventKind[])('treats the kind %s as its table says', (kind) => {
    const { about, audit } = EVENT_KINDS[kind];
    const conditions: Condition[] = [{ type: 'Authenticated', status: 'True', reason: 'R' }];
    const entry = auditEntryFor({ kind, resourceRef: { ...ref, kind: about[0] }, conditions });
    expect(entry).toEqual(audit === 'always' ? { summary: `${kind}: Authenticated (R)`, reason: 'R' } : undefined);
    expect(auditEntryFor({ kind, resourceRef: { ...ref, kind: 'Pod' }, conditions })).toBeUndefined();
  });

  it('bounds the summary of a long message', () => {
    const entry = transition('Operation', [{ type: 'Failed', status: 'True', message: '😀'.repeat(16_000) }]);
    expect(entry?.summary.length).toBe(2000);
    expect(entry?.summary.isWellFormed()).toBe(true);
  });
});
