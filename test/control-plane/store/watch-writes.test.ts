import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createHttpServer } from '../../../src/control-plane/http/server.ts';
import { GroupCommit } from '../../../src/control-plane/store/group-commit.ts';
import { kyselyOver, openSqlite } from '../../../src/control-plane/store/sqlite-connection.ts';
import { watchWrites } from '../../../src/control-plane/store/watch-writes.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { insertOrganization, openTestStore, organizationIds, temporaryFolder, TEST_LOGGER } from './open-test-store.ts';

describe('readiness', () => {
  it('S2: ends with the first write that a full disk refuses, and comes back by itself when there is space', async () => {
    using folder = temporaryFolder();
    await (await openTestStore(folder.path))[Symbol.asyncDispose]();
    using database = openSqlite(join(folder.path, 'control-plane.db'));
    const db = kyselyOver(database);
    const writes = new GroupCommit({ database, trx: db });
    const clock = new ManualClock();
    const store = watchWrites(
      {
        db,
        write: async (work, options) => await writes.write(work, options),
        ping: async () => undefined,
        [Symbol.asyncDispose]: async () => undefined,
      },
      clock,
    );
    const ready = async (): Promise<void> => await store.ping();
    await using app = createHttpServer({ clock, logger: TEST_LOGGER, randomBytes, ready });
    const readyz = async (): Promise<string> => {
      const { statusCode, body } = await app.inject({ method: 'GET', url: '/readyz' });
      return `${statusCode} ${String((JSON.parse(body) as { message?: string }).message)}`;
    };
    expect(await readyz()).toBe('200 undefined');
    database.exec(`PRAGMA max_page_count = ${String(database.prepare('PRAGMA page_count').get()?.['page_count'])}`);
    const large = insertOrganization(store, 'org-1', 'x'.repeat(200_000));
    await expect(large).rejects.toMatchObject({ code: 'unavailable' });
    const full = '503 not ready: the disk of the database is full; nothing was stored, try again';
    expect([await readyz(), await readyz()]).toEqual([full, full]);
    database.exec('PRAGMA max_page_count = 1000000');
    // Asked again and again, it tries a write every five seconds and no more often.
    clock.advance(4999);
    expect(await readyz()).toBe(full);
    clock.advance(1);
    expect(await readyz()).toBe('200 undefined');
    expect(await organizationIds(store)).toEqual([]);
    expect(await db.selectFrom('installation').select('name').execute()).toEqual([]);
  });

  it('is not lost over what is refused for another reason', async () => {
    using folder = temporaryFolder();
    await using store = await openTestStore(folder.path);
    await insertOrganization(store, 'org-1');
    await expect(insertOrganization(store, 'org-1')).rejects.toThrow('UNIQUE');
    await store.ping();
  });
});
