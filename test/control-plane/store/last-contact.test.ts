import { describe, expect, it } from 'vitest';
import { LastContact } from '../../../src/control-plane/store/last-contact.ts';
import { AppError } from '../../../src/protocol/app-error.ts';
import { ManualClock } from '../../support/manual-clock.ts';

describe('LastContact', () => {
  it('keeps contacts that could not be stored for the next flush', async () => {
    const clock = new ManualClock();
    let writes = 0;
    const failing = async (): Promise<never> => {
      writes += 1;
      throw new AppError('unavailable', 'the disk is full');
    };
    const contact = new LastContact({ store: { write: failing }, clock });
    contact.touch('c-1');
    await expect(contact.flush()).rejects.toThrow('the disk is full');
    expect(contact.pending('c-1')).toBe('2026-03-01T10:00:00.000Z');
    await expect(contact.flush()).rejects.toThrow('the disk is full');
    expect(writes).toBe(2);
  });
});
