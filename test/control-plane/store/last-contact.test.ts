import { describe, expect, it } from 'vitest';
import { LastContact } from '../../../src/control-plane/store/last-contact.ts';
import { AppError } from '../../../src/protocol/app-error.ts';
import { insertCluster, insertOrganization } from './open-test-store.ts';
import { TEST_DATABASES } from './test-databases.ts';
import { ManualClock } from '../../support/manual-clock.ts';

describe.each(TEST_DATABASES)('LastContact on $name', ({ create }) => {
  it('stores contacts together, and never an earlier one over a later one', async () => {
    using database = await create();
    await using store = await database.open();
    await insertOrganization(store, 'org-1');
    for (const id of ['c-1', 'c-2', 'c-3']) await insertCluster(store, { id, organization_id: 'org-1', slug: id });
    const clock = new ManualClock();
    const early = new LastContact({ store, clock });
    for (const id of ['c-2', 'c-1', 'c-gone']) early.touch(id);
    clock.advance(1000);
    const late = new LastContact({ store, clock });
    late.touch('c-2');
    await late.flush();
    await early.flush();
    const rows = await store.db.selectFrom('clusters').select(['id', 'last_contact_at']).orderBy('id').execute();
    expect(rows.map((row) => [row.id, row.last_contact_at])).toEqual([
      ['c-1', '2026-03-01T10:00:00.000Z'],
      ['c-2', '2026-03-01T10:00:01.000Z'],
      ['c-3', null],
    ]);
    expect([early.pending('c-1'), late.pending('c-2')]).toEqual([undefined, undefined]);
  });
});

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
