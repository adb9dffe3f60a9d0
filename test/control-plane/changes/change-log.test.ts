import { Client } from 'pg';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { ChangeLog } from '../../../src/control-plane/changes/change-log.ts';
import { trimChanges } from '../../../src/control-plane/changes/change-retention.ts';
import { reachOfChanges, readChanges } from '../../../src/control-plane/store/change-pages.ts';
import { noteChange } from '../../../src/control-plane/store/changes.ts';
import type { Store } from '../../../src/control-plane/store/open-store.ts';
import { Wakeups } from '../../../src/control-plane/wakeups.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { newPostgresDatabase } from '../../support/postgres/new-database.ts';
import { openStoreAt } from '../store/open-store-at.ts';
import { TEST_LOGGER } from '../store/open-test-store.ts';
import { TEST_DATABASES } from '../store/test-databases.ts';

const ORGANIZATION = 'org-1';
const WAIT = { timeout: 10_000, interval: 20 };

function logOver(store: Store, clock = new ManualClock()): ChangeLog {
  return new ChangeLog({ store, wakeups: new Wakeups({ clock }), clock, logger: TEST_LOGGER });
}

/** Takes turns until it is known where the log ends: transactions of other tests on the same server may hold that up. */
async function begin(log: ChangeLog): Promise<number> {
  log.follow();
  return await vi.waitFor(async () => {
    await log.turn();
    if (log.settled === undefined) throw new Error('it did not begin');
    return log.settled;
  }, WAIT);
}

/** Takes turns until that is what is kept. */
async function takesTurnsUntil(log: ChangeLog, from: number, ids: readonly string[]): Promise<void> {
  await vi.waitFor(async () => {
    await log.turn();
    expect(idsBehind(log, from)).toEqual(ids);
  }, WAIT);
}

async function note(store: Store, ...ids: string[]): Promise<void> {
  await store.write(async (trx) => {
    for (const id of ids) noteChange(trx, { organizationId: ORGANIZATION, resource: 'intents', id });
  });
}

function idsBehind(log: ChangeLog, seq: number): (string | null)[] {
  return (log.keptAfter(seq) ?? []).map((change) => change.resource_id);
}

describe.each(TEST_DATABASES)('$name', ({ create }) => {
  test('stores a change once however often it is noted, and none of a write that fails', async () => {
    using database = await create();
    await using store = await database.open();
    await note(store, 'int-1', 'int-1', 'int-2');
    await expect(
      store.write(async (trx) => {
        noteChange(trx, { organizationId: ORGANIZATION, resource: 'intents', id: 'int-3' });
        throw new Error('it failed');
      }),
    ).rejects.toThrow('it failed');
    const rows = await readChanges(store.db, { after: 0, limit: 10 });
    expect(rows.map((row) => row.resource_id)).toEqual(['int-1', 'int-2']);
  });

  test('tells of many in one write as of one without an id', async () => {
    using database = await create();
    await using store = await database.open();
    await note(store, ...Array.from({ length: 51 }, (_, index) => `int-${index}`));
    const rows = await readChanges(store.db, { after: 0, limit: 100 });
    expect(rows.map((row) => [row.resource, row.resource_id])).toEqual([['intents', null]]);
  });

  test('follows from the end on, and keeps what came since', async () => {
    using database = await create();
    await using store = await database.open();
    await note(store, 'int-1');
    const log = logOver(store);
    const from = await begin(log);
    await note(store, 'int-2', 'int-3');
    await takesTurnsUntil(log, from, ['int-2', 'int-3']);
    expect(log.keptAfter(from - 1)).toBeUndefined();
  });

  test('reads nothing while nobody follows', async () => {
    using database = await create();
    await using store = await database.open();
    const log = logOver(store);
    expect(await log.turn()).toBe(false);
    expect(log.settled).toBeUndefined();
  });

  test('keeps what is young enough and not too much, and up to where the rest is gone', async () => {
    using database = await create();
    await using store = await database.open();
    for (let index = 0; index < 6; index += 1) await note(store, `int-${index}`);
    const all = await readChanges(store.db, { after: 0, limit: 10 });
    await trimChanges({ store, clock: new ManualClock() }, 4);
    expect(await readChanges(store.db, { after: 0, limit: 10 })).toEqual(all.slice(2));
    expect((await reachOfChanges(store.db)).from).toBe(all[1]?.seq);
    await trimChanges({ store, clock: new ManualClock('2026-03-02T10:00:00.001Z') });
    expect(await readChanges(store.db, { after: 0, limit: 10 })).toEqual([]);
    expect(await reachOfChanges(store.db)).toEqual({ from: all[5]?.seq, to: all[5]?.seq });
  });
});

describe('several who write at once over PostgreSQL', () => {
  async function twoWriters() {
    const url = await newPostgresDatabase();
    const store = await openStoreAt(url);
    const clients = [new Client({ connectionString: url }), new Client({ connectionString: url })] as const;
    for (const client of clients) await client.connect();
    onTestFinished(async () => {
      for (const client of clients) await client.end();
      await store[Symbol.asyncDispose]();
    });
    return { store, clients };
  }

  async function insert(client: Client, id: string): Promise<void> {
    const text = `INSERT INTO changes (organization_id, at, resource, resource_id) VALUES ($1, '', 'intents', $2)`;
    await client.query(text, [ORGANIZATION, id]);
  }

  test('tells nothing before a smaller number that commits later', async () => {
    const { store, clients } = await twoWriters();
    const [early, late] = clients;
    const log = logOver(store);
    const from = await begin(log);
    await early.query('BEGIN');
    await insert(early, 'early');
    await insert(late, 'late');
    for (let turn = 0; turn < 3; turn += 1) expect(await log.turn()).toBe(true);
    expect(log.settled).toBe(from);
    await early.query('COMMIT');
    await takesTurnsUntil(log, from, ['early', 'late']);
  });

  test('goes on behind a number that was taken back', async () => {
    const { store, clients } = await twoWriters();
    const [early, late] = clients;
    const log = logOver(store);
    const from = await begin(log);
    await early.query('BEGIN');
    await insert(early, 'early');
    await insert(late, 'late');
    expect(await log.turn()).toBe(true);
    expect(log.settled).toBe(from);
    await early.query('ROLLBACK');
    await takesTurnsUntil(log, from, ['late']);
  });

  test('waits for a transaction that began last and took its number first', async () => {
    const { store, clients } = await twoWriters();
    const [first, second] = clients;
    const log = logOver(store);
    const from = await begin(log);
    await first.query('BEGIN');
    await first.query('SELECT pg_current_xact_id()');
    await second.query('BEGIN');
    await insert(second, 'second');
    await insert(first, 'first');
    await first.query('COMMIT');
    for (let turn = 0; turn < 3; turn += 1) await log.turn();
    expect(log.settled).toBe(from);
    await second.query('COMMIT');
    await takesTurnsUntil(log, from, ['second', 'first']);
  });

  test('begins with what commits after somebody came, though its number is smaller than one that was seen', async () => {
    const { store, clients } = await twoWriters();
    const [early, late] = clients;
    await early.query('BEGIN');
    await insert(early, 'early');
    await insert(late, 'late');
    const log = logOver(store);
    log.follow();
    for (let turn = 0; turn < 3; turn += 1) expect(await log.turn()).toBe(true);
    expect(log.settled).toBeUndefined();
    await early.query('COMMIT');
    await vi.waitFor(async () => {
      await log.turn();
      expect(log.settled).toBe((await reachOfChanges(store.db)).to);
    }, WAIT);
  });

  test('gives up a number whose transaction does not end, and says so', async () => {
    const { store, clients } = await twoWriters();
    const [early, late] = clients;
    const clock = new ManualClock();
    const log = logOver(store, clock);
    const from = await begin(log);
    await early.query('BEGIN');
    await insert(early, 'early');
    await insert(late, 'late');
    await log.turn();
    clock.advance(120_000);
    await takesTurnsUntil(log, from, ['late']);
    expect(log.doubtfulUpTo).toBe(log.settled);
    await early.query('ROLLBACK');
  });
});
