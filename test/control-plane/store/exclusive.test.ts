import { describe, expect, it, vi } from 'vitest';
import { runExclusive, withExclusive } from '../../../src/control-plane/store/exclusive.ts';
import type { Store } from '../../../src/control-plane/store/open-store.ts';
import { systemClock } from '../../../src/runtime/clock.ts';
import { newPostgresDatabase } from '../../support/postgres/new-database.ts';
import { queryDatabase } from '../../support/postgres/postgres-server.ts';
import { insertOrganization, organizationIds, TEST_LOGGER } from './open-test-store.ts';
import { openStoreAt } from './open-store-at.ts';
import { TEST_DATABASES } from './test-databases.ts';

const SECONDS = { timeout: 15_000, interval: 20 };

/** Two stores over one database, as two replicas have them. */
async function twoReplicas(): Promise<AsyncDisposable & { url: string; a: Store; b: Store }> {
  const url = await newPostgresDatabase();
  const a = await openStoreAt(url);
  const b = await openStoreAt(url);
  return {
    url,
    a,
    b,
    [Symbol.asyncDispose]: async () => {
      await a[Symbol.asyncDispose]();
      await b[Symbol.asyncDispose]();
    },
  };
}

/** Ends the connections that hold locks, as a network that fails does. */
async function cutHolders(url: string): Promise<void> {
  await queryDatabase(
    url,
    `SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND granted
        AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`,
  );
}

describe.each(TEST_DATABASES)('withExclusive on $name', ({ create }) => {
  it('answers what the work answers, passes on what it throws, and can be asked again', async () => {
    using database = await create();
    await using store = await database.open();
    expect(await withExclusive(store, 'x', async () => 7)).toEqual({ granted: true, value: 7 });
    const failed = withExclusive(store, 'x', async () => await Promise.reject(new Error('no')));
    await expect(failed).rejects.toThrow('no');
    expect(await withExclusive(store, 'x', async () => 8)).toEqual({ granted: true, value: 8 });
  });

  it('is shared by those of one process, who may all store what they did', async () => {
    using database = await create();
    await using store = await database.open();
    const turns = await Promise.all(
      ['org-1', 'org-2', 'org-3'].map(
        async (id) =>
          await withExclusive(store, 'x', async (held) => {
            await store.write(async (trx) => {
              await held.fence(trx);
              await trx.insertInto('organizations').values({ id, name: id, created_at: '' }).execute();
            });
          }),
      ),
    );
    expect(turns.map(({ granted }) => granted)).toEqual([true, true, true]);
    expect(await organizationIds(store)).toEqual(['org-1', 'org-2', 'org-3']);
  });
});

describe('withExclusive between replicas', () => {
  it('is granted to one at a time, each name on its own', async () => {
    await using replicas = await twoReplicas();
    const { a, b } = replicas;
    const turn = await withExclusive(a, 'x', async () => [
      await withExclusive(b, 'x', async () => 'both'),
      await withExclusive(b, 'y', async () => 'other'),
    ]);
    expect(turn).toEqual({ granted: true, value: [{ granted: false }, { granted: true, value: 'other' }] });
    expect(await withExclusive(b, 'x', async () => 'after')).toEqual({ granted: true, value: 'after' });
    expect(await a.db.selectFrom('leases').selectAll().execute()).toEqual([]);
  });

  it('tells the holder that it lost its connection, and lets nothing through that it stores after another took over', async () => {
    await using replicas = await twoReplicas();
    const { url, a, b } = replicas;
    const late = withExclusive(a, 'x', async (held) => {
      await cutHolders(url);
      await vi.waitFor(() => expect(held.signal.aborted).toBe(true), SECONDS);
      const taken = await withExclusive(b, 'x', async () => {
        await expect(a.write(async (trx) => await held.fence(trx))).rejects.toMatchObject({
          code: 'unavailable',
          message: 'another replica has taken over x; it does what is left',
        });
        await insertOrganization(b, 'org-b');
      });
      expect(taken.granted).toBe(true);
    });
    expect((await late).granted).toBe(true);
    expect(await organizationIds(a)).toEqual(['org-b']);
  });

  it('is not granted twice in one process when its connection is made anew', async () => {
    await using replicas = await twoReplicas();
    const { url, a, b } = replicas;
    await withExclusive(a, 'x', async (first) => {
      await cutHolders(url);
      await vi.waitFor(() => expect(first.signal.aborted).toBe(true), SECONDS);
      await vi.waitFor(async () => {
        await withExclusive(a, 'x', async (second) => {
          expect(second.signal.aborted).toBe(false);
          expect(await withExclusive(b, 'x', async () => undefined)).toEqual({ granted: false });
        });
      }, SECONDS);
    });
    expect((await withExclusive(b, 'x', async () => undefined)).granted).toBe(true);
  });
});

describe('runExclusive', () => {
  it('runs at one replica, and at the other when the first has gone', async () => {
    await using replicas = await twoReplicas();
    const running = new Set<string>();
    const most: number[] = [];
    const start = (name: string, store: Store): { stop: AbortController; ended: Promise<void> } => {
      const stop = new AbortController();
      const run = async (signal: AbortSignal): Promise<void> => {
        running.add(name);
        most.push(running.size);
        await new Promise((resolve) => {
          signal.addEventListener('abort', resolve, { once: true });
        });
        running.delete(name);
      };
      const deps = { store, clock: systemClock, random: () => 0, logger: TEST_LOGGER };
      return { stop, ended: runExclusive(deps, 'upkeep', run, stop.signal) };
    };
    const a = start('a', replicas.a);
    await vi.waitFor(() => expect([...running]).toEqual(['a']), SECONDS);
    const b = start('b', replicas.b);
    await cutHolders(replicas.url);
    await vi.waitFor(() => expect(most.length).toBeGreaterThan(1), SECONDS);
    const [holder] = running;
    const [gone, other] = holder === 'a' ? [a, b] : [b, a];
    gone.stop.abort(new Error('stopping'));
    await gone.ended;
    await vi.waitFor(() => expect([...running]).toEqual([holder === 'a' ? 'b' : 'a']), SECONDS);
    other.stop.abort(new Error('stopping'));
    await other.ended;
    expect(Math.max(...most)).toBe(1);
  });
});
