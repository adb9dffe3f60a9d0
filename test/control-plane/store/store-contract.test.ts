import { describe, expect, it } from 'vitest';
import type { Store } from '../../../src/control-plane/store/open-store.ts';
import { ensureOrganization } from '../../../src/control-plane/store/organizations.ts';
import { isUniqueViolation } from '../../../src/control-plane/store/store-error.ts';
import { AppError } from '../../../src/protocol/app-error.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { insertOrganization, organizationIds } from './open-test-store.ts';
import { TEST_DATABASES } from './test-databases.ts';

async function refused(work: Promise<unknown>): Promise<unknown> {
  const [outcome] = await Promise.allSettled([work]);
  return outcome.status === 'rejected' ? outcome.reason : undefined;
}

async function raise(store: Store): Promise<number> {
  return await store.write(async (trx) => {
    const row = await trx
      .selectFrom('organizations')
      .select('name')
      .where('id', '=', 'org-1')
      .executeTakeFirstOrThrow();
    const next = Number(row.name) + 1;
    await trx
      .updateTable('organizations')
      .set({ name: String(next) })
      .where('id', '=', 'org-1')
      .execute();
    return next;
  });
}

describe.each(TEST_DATABASES)('a store on $name', ({ create }) => {
  it('keeps what was written when it is opened again', async () => {
    using database = await create();
    {
      await using store = await database.open();
      await insertOrganization(store, 'org-1');
    }
    await using store = await database.open();
    expect(await organizationIds(store)).toEqual(['org-1']);
  });

  it('undoes a failed write alone among those that come together', async () => {
    using database = await create();
    await using store = await database.open();
    await insertOrganization(store, 'org-1');
    const outcomes = await Promise.allSettled([
      store.write(async (trx) => {
        await trx.insertInto('organizations').values({ id: 'org-2', name: 'org-2', created_at: '' }).execute();
        throw new Error('second thoughts');
      }),
      insertOrganization(store, 'org-3', 'org-1'),
      insertOrganization(store, 'org-4'),
    ]);
    expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'fulfilled']);
    const [, second] = outcomes;
    expect(isUniqueViolation(second.status === 'rejected' ? second.reason : undefined)).toBe(true);
    expect(await organizationIds(store)).toEqual(['org-1', 'org-4']);
  });

  it('shows readers nothing of a write in progress', async () => {
    using database = await create();
    await using store = await database.open();
    const seen: string[][] = [];
    await store.write(async (trx) => {
      await trx.insertInto('organizations').values({ id: 'org-1', name: 'a', created_at: '' }).execute();
      seen.push(await organizationIds(store), await organizationIds({ db: trx }));
    });
    expect(seen).toEqual([[], ['org-1']]);
  });

  it('refuses a write inside a write, and writes through the reading side', async () => {
    using database = await create();
    await using store = await database.open();
    const nested = await refused(store.write(async () => await insertOrganization(store, 'org-1')));
    expect(String(nested)).toContain('a write inside a write would wait for itself');
    expect(await refused(store.db.deleteFrom('organizations').execute())).toBeInstanceOf(AppError);
    await insertOrganization(store, 'org-2');
    expect(await organizationIds(store)).toEqual(['org-2']);
  });

  it('enforces references between tables', async () => {
    using database = await create();
    await using store = await database.open();
    const orphan = store.write(async (trx) => {
      const row = { token_hash: 'h', cluster_id: 'c-none', created_by: 'a', created_at: '', expires_at: '' };
      await trx.insertInto('registration_tokens').values(row).execute();
    });
    expect(String(await refused(orphan))).toMatch(/foreign key constraint/i);
    await store.ping();
  });

  it('runs writes as if one came after the other', async () => {
    using database = await create();
    await using store = await database.open();
    await insertOrganization(store, 'org-1', '0');
    const numbers = await Promise.all(Array.from({ length: 40 }, async () => await raise(store)));
    expect(numbers.sort((a, b) => a - b)).toEqual(Array.from({ length: 40 }, (_, n) => n + 1));
  });

  it('makes what must be there once, however many ask at once', async () => {
    using database = await create();
    await using store = await database.open();
    const deps = { clock: new ManualClock(), randomBytes: (n: number) => crypto.getRandomValues(new Uint8Array(n)) };
    const made = await Promise.all(
      Array.from({ length: 20 }, async () => {
        const { id } = await store.write(async (trx) => await ensureOrganization(trx, 'default', deps));
        return id;
      }),
    );
    expect([...new Set(made)]).toEqual(await organizationIds(store));
  });

  it('sorts text byte by byte', async () => {
    using database = await create();
    await using store = await database.open();
    const ids = ['a-b', 'aB', 'ab', 'a_c', 'Z', 'ä', '10', '9', 'a'];
    for (const id of ids) await insertOrganization(store, id);
    expect(await organizationIds(store)).toEqual(['10', '9', 'Z', 'a', 'a-b', 'aB', 'a_c', 'ab', 'ä']);
    const after = await store.db
      .selectFrom('organizations')
      .select('id')
      .where('id', '>', 'aB')
      .orderBy('id')
      .execute();
    expect(after.map(({ id }) => id)).toEqual(['a_c', 'ab', 'ä']);
  });

  it('gives numbers as numbers, beyond what 32 bits hold', async () => {
    using database = await create();
    await using store = await database.open();
    await store.write(async (trx) => {
      await trx
        .insertInto('audit')
        .values({ organization_id: 'o', at: '', source: 'user', kind: 'k', summary: 's', event_seq: 2 ** 52 })
        .execute();
    });
    const row = await store.db
      .selectFrom('audit')
      .select((eb) => [
        'id',
        'event_seq',
        eb.fn.countAll<number>().over().as('all'),
        eb.fn.max('event_seq').over().as('most'),
      ])
      .executeTakeFirstOrThrow();
    expect(row).toEqual({ id: 1, event_seq: 2 ** 52, all: 1, most: 2 ** 52 });
  });

  it('takes texts with every character, and stays of use where one cannot be kept', async () => {
    using database = await create();
    await using store = await database.open();
    await insertOrganization(store, 'org-1', `a "quote", a \\, 😀 and \u0001`);
    await insertOrganization(store, 'org-2', 'before\u0000after');
    const rows = await store.db.selectFrom('organizations').select('name').orderBy('id').execute();
    expect(rows.at(0)).toEqual({ name: `a "quote", a \\, 😀 and \u0001` });
    expect(['before\u0000after', 'before\uFFFDafter']).toContain(rows.at(1)?.name);
  });

  it('finishes the writes it took before it closes, and takes none after', async () => {
    using database = await create();
    const store = await database.open();
    const writes = Array.from({ length: 50 }, async (_, n) => {
      await insertOrganization(store, `org-${n}`);
    });
    await store[Symbol.asyncDispose]();
    await Promise.all(writes);
    expect(await refused(insertOrganization(store, 'late'))).toMatchObject({ code: 'unavailable' });
    await using again = await database.open();
    expect(await organizationIds(again)).toHaveLength(50);
  });
});
