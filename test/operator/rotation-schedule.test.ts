import { describe, expect, it } from 'vitest';
import { rotationDue } from '../../src/operator/rotation-schedule.ts';

const NOW = Date.parse('2026-03-01T10:00:00.000Z');
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

const at = (ms: number): string => new Date(NOW + ms).toISOString();

describe('a credential is replaced', () => {
  it('when its time has come, and a few seconds later by chance', () => {
    const times = { rotateAfter: at(7 * DAY), expiresAt: at(30 * DAY) };
    expect(rotationDue(times, NOW, 0)).toBe(NOW + 7 * DAY);
    expect(rotationDue(times, NOW, 0.5)).toBe(NOW + 7 * DAY + 1500);
  });

  it('by the earlier of what came with it and what is said now', () => {
    const times = { rotateAfter: at(7 * DAY), configured: at(2 * DAY), expiresAt: at(30 * DAY) };
    expect(rotationDue(times, NOW, 0)).toBe(NOW + 2 * DAY);
    expect(rotationDue({ ...times, configured: at(9 * DAY) }, NOW, 0)).toBe(NOW + 7 * DAY);
  });

  it('within seconds when an admin asks', () => {
    expect(rotationDue({ rotateAfter: at(7 * DAY), configured: at(-1000) }, NOW, 0.999)).toBe(NOW + 2997);
  });

  it('an hour before its end, whatever was said', () => {
    expect(rotationDue({ rotateAfter: at(40 * DAY), expiresAt: at(30 * DAY) }, NOW, 0)).toBe(NOW + 30 * DAY - HOUR);
    expect(rotationDue({ expiresAt: at(30 * DAY) }, NOW, 0)).toBe(NOW + 30 * DAY - HOUR);
  });

  it('never by schedule where nobody said when, or what was said is no time', () => {
    expect(rotationDue({}, NOW, 0)).toBeUndefined();
    expect(rotationDue({ rotateAfter: 'soon' }, NOW, 0)).toBeUndefined();
  });

  it('spread over ten minutes by a fleet that comes back long after its time', () => {
    const times = { rotateAfter: at(-HOUR), expiresAt: at(20 * DAY) };
    expect([0, 0.5, 0.999].map((spread) => rotationDue(times, NOW, spread))).toEqual([
      NOW,
      NOW + 5 * MINUTE,
      NOW + 599_400,
    ]);
  });

  it('while at least half of what is left of it is left', () => {
    expect(rotationDue({ rotateAfter: at(-HOUR), expiresAt: at(4 * MINUTE) }, NOW, 0.999)).toBe(NOW + 119_880);
    expect(rotationDue({ rotateAfter: at(-HOUR), expiresAt: at(-MINUTE) }, NOW, 0.999)).toBe(NOW);
  });
});
