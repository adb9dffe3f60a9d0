import { expect, it } from 'vitest';
import { silenceOf } from '../../../src/control-plane/modes/gather-facts.ts';

const CLUSTER = {
  status: 'Active',
  disabled_at: null,
  revoked_at: null,
  disconnected_at: '2026-11-28T12:00:00.000Z',
  last_contact_at: '2026-11-28T11:59:00.000Z',
} as const;

it('takes an operator for silent that was marked so, and no longer once it has called again', () => {
  expect(silenceOf(CLUSTER)).toBe('nothing was heard of it since 2026-11-28T11:59:00.000Z');
  // The mark is taken back some seconds later only.
  expect(silenceOf({ ...CLUSTER, last_contact_at: '2026-11-28T12:00:03.000Z' })).toBeUndefined();
});
