import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { GroupCommit } from '../../../src/control-plane/store/group-commit.ts';
import { kyselyOver, openSqlite } from '../../../src/control-plane/store/sqlite-connection.ts';
import { insertOrganization, openTestStore, temporaryFolder } from './open-test-store.ts';

async function migrated(folder: string): Promise<string> {
  await (await openTestStore(folder))[Symbol.asyncDispose]();
  return join(folder, 'control-plane.db');
}

describe('GroupCommit', () => {
  it('S2: tells every caller of a full disk, stores nothing of theirs, and goes on when there is space', async () => {
    using folder = temporaryFolder();
    using database = openSqlite(await migrated(folder.path));
    const writes = new GroupCommit({ database, trx: kyselyOver(database) });
    const pages = database.prepare('PRAGMA page_count').get()?.['page_count'];
    database.exec(`PRAGMA max_page_count = ${String(pages)}`);
    const name = 'x'.repeat(100_000);
    const outcomes = await Promise.allSettled([
      insertOrganization({ write: async (work) => await writes.write(work) }, 'org-1'),
      insertOrganization({ write: async (work) => await writes.write(work) }, 'org-2', name),
    ]);
    const full = { code: 'unavailable', message: expect.stringContaining('is full') as string, retryAfterSeconds: 5 };
    expect(outcomes.at(1)).toMatchObject({ status: 'rejected', reason: full });
    database.exec('PRAGMA max_page_count = 1000000');
    await insertOrganization({ write: async (work) => await writes.write(work) }, 'org-2', name);
    const rows = database.prepare('SELECT id FROM organizations ORDER BY id').all();
    // Who was told of success is stored, who was told of a failure is not.
    const first = outcomes[0].status === 'fulfilled' ? [{ id: 'org-1' }] : [];
    expect(rows).toEqual([...first, { id: 'org-2' }]);
  });

  it('tells those who wait when another process has the database locked, and goes on after it', async () => {
    using folder = temporaryFolder();
    const file = await migrated(folder.path);
    using database = openSqlite(file);
    database.exec('PRAGMA busy_timeout = 0');
    using other = openSqlite(file);
    const writes = new GroupCommit({ database, trx: kyselyOver(database) });
    other.exec('BEGIN IMMEDIATE');
    const outcomes = await Promise.allSettled(
      ['org-1', 'org-2'].map(async (id) => {
        await insertOrganization({ write: async (work) => await writes.write(work) }, id);
      }),
    );
    expect(
      outcomes.map((outcome) => (outcome.status === 'rejected' ? (outcome.reason as { code: string }).code : 'ok')),
    ).toEqual(['unavailable', 'unavailable']);
    other.exec('ROLLBACK');
    await insertOrganization({ write: async (work) => await writes.write(work) }, 'org-3');
    expect(database.prepare('SELECT id FROM organizations').all()).toEqual([{ id: 'org-3' }]);
  });

  it('refuses more writes than may wait', async () => {
    using folder = temporaryFolder();
    using database = openSqlite(await migrated(folder.path));
    const writes = new GroupCommit({ database, trx: kyselyOver(database), maxWaiting: 2 });
    const outcomes = await Promise.allSettled([1, 2, 3].map(async (n) => await writes.write(async () => n)));
    expect(outcomes).toMatchObject([
      { status: 'fulfilled', value: 1 },
      { status: 'fulfilled', value: 2 },
      { status: 'rejected', reason: { code: 'unavailable', retryAfterSeconds: 1 } },
    ]);
  });

  it('lets an ack in before the posts of events that wait already (A3)', async () => {
    using folder = temporaryFolder();
    using database = openSqlite(await migrated(folder.path));
    const writes = new GroupCommit({ database, trx: kyselyOver(database) });
    const order: string[] = [];
    const write = async (name: string, urgent: boolean): Promise<void> => {
      await writes.write(async () => order.push(name), { urgent });
    };
    await Promise.all([
      ...Array.from({ length: 20 }, async (_, index) => await write(`events ${index}`, false)),
      write('ack', true),
    ]);
    expect(order).toHaveLength(21);
    expect(order[0]).toBe('ack');
  });

  it('shares one transaction among concurrent writers', async () => {
    using folder = temporaryFolder();
    using database = openSqlite(await migrated(folder.path));
    const writes = new GroupCommit({ database, trx: kyselyOver(database) });
    using other = openSqlite(join(folder.path, 'control-plane.db'));
    const versions = new Set<unknown>();
    await Promise.all(
      Array.from({ length: 100 }, async (_, n) => {
        await insertOrganization({ write: async (work) => await writes.write(work) }, `org-${n}`);
        // Changes with every commit of another connection that this one sees.
        versions.add(other.prepare('PRAGMA data_version').get()?.['data_version']);
      }),
    );
    expect(versions.size).toBeLessThan(10);
  });
});
