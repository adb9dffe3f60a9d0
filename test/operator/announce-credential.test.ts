import { describe, expect, it } from 'vitest';
import { announceCredential, type AnnouncementInput } from '../../src/operator/announce-credential.ts';
import { eventFingerprint } from '../../src/protocol/event-key.ts';
import type { AgentEvent } from '../../src/protocol/event.ts';

const REF = { apiVersion: 'ops.service.io/v1alpha1', kind: 'Cluster', name: 'eu', uid: 'u1', generation: 3 };

function told(change: Partial<AnnouncementInput>): ReturnType<typeof announceCredential> {
  return announceCredential({
    credentials: { rotatedAt: '2026-03-01T10:00:00.000Z', expiresAt: '2026-03-31T10:00:00.000Z' },
    origin: 'rotated',
    ref: REF,
    source: {},
    conditions: [],
    now: new Date('2026-03-01T10:00:00.000Z'),
    ...change,
  });
}

function fingerprint(event: AgentEvent | undefined): string {
  if (event === undefined) throw new Error('there is no event');
  return eventFingerprint(event);
}

describe('what is told of a credential', () => {
  it('is a record of its own for each rotation, under the one key of the Cluster', () => {
    const first = told({});
    const second = told({
      credentials: { rotatedAt: '2026-03-08T10:00:00.000Z', expiresAt: '2026-03-31T10:00:00.000Z' },
    });
    expect([first.event?.eventKey, second.event?.eventKey]).toEqual([
      'CredentialRotated/u1/Authenticated',
      'CredentialRotated/u1/Authenticated',
    ]);
    expect(fingerprint(first.event)).not.toBe(fingerprint(second.event));
  });

  it('is told again by a process that was started after a crash, as a replay of the first', () => {
    const { event } = told({});
    const later = { origin: 'found', now: new Date('2026-03-01T12:00:00.000Z') } as const;
    const unwritten = {
      type: 'Authenticated',
      status: 'True',
      lastTransitionTime: '2026-02-01T00:00:00.000Z',
    } as const;
    const again = told({ ...later, conditions: [unwritten] });
    expect(fingerprint(again.event)).toBe(fingerprint(event));
    expect(again.condition).toMatchObject({
      reason: 'CredentialRotated',
      lastTransitionTime: '2026-03-01T10:00:00.000Z',
    });
    expect(again.record).toBeUndefined();
    const written = { ...unwritten, lastTransitionTime: '2026-03-01T10:00:00.000Z' };
    expect(told({ ...later, conditions: [written] })).toEqual({ event: again.event });
    // It went wrong since: that is newer than the rotation.
    expect(told({ ...later, conditions: [{ ...unwritten, status: 'False' }] })).toEqual({ event: again.event });
    expect(told({ ...later, now: new Date('2026-03-03T10:00:00.000Z') })).toEqual({});
  });

  it('is nothing for one from a registration, and a warning for one that was recovered', () => {
    expect(told({ credentials: {}, origin: 'registered' })).toEqual({});
    const { event, condition, record } = told({ credentials: {}, origin: 'recovered' });
    expect({ event, reason: condition?.reason, type: record?.type }).toEqual({
      event: undefined,
      reason: 'CredentialRecovered',
      type: 'Warning',
    });
  });
});
