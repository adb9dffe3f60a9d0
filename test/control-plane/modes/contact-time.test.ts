import { expect, it } from 'vitest';
import { ContactTime } from '../../../src/control-plane/modes/contact-time.ts';

const at = (seconds: number): Date => new Date(Date.parse('2026-11-28T10:00:00.000Z') + seconds * 1000);
const contact = (seconds: number): string => at(seconds).toISOString();

it('counts from one contact to the next, and nothing while there is none', () => {
  const time = new ContactTime();
  expect(time.spent('sw-1', 'probing', contact(-5), at(0))).toBe(0);
  expect(time.spent('sw-1', 'probing', contact(20), at(21))).toBe(20_000);
  expect(time.spent('sw-1', 'probing', contact(20), at(500))).toBe(20_000);
  expect(time.spent('sw-1', 'probing', contact(50), at(501))).toBe(50_000);
  // It was away, and called again: a minute at the most.
  expect(time.spent('sw-1', 'probing', contact(86_450), at(86_451))).toBe(110_000);
});

it('counts anew in another phase, for another switch, and for one that it was told to forget', () => {
  const time = new ContactTime();
  time.spent('sw-1', 'probing', null, at(0));
  expect(time.spent('sw-1', 'probing', contact(30), at(30))).toBe(30_000);
  expect(time.spent('sw-2', 'probing', contact(30), at(30))).toBe(0);
  expect(time.spent('sw-1', 'fencing', contact(31), at(31))).toBe(0);
  expect(time.spent('sw-1', 'fencing', contact(40), at(40))).toBe(9000);
  time.keepOnly(new Set(['sw-2']));
  expect(time.spent('sw-1', 'fencing', contact(50), at(50))).toBe(0);
  expect(time.spent('sw-2', 'probing', contact(50), at(50))).toBe(20_000);
});
