import { sql } from 'kysely';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { migrate, MIGRATIONS } from '../../../src/control-plane/store/migrate.ts';
import type { Migration } from '../../../src/control-plane/store/migrations/migration.ts';
import { kyselyOver, openSqlite } from '../../../src/control-plane/store/sqlite-connection.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { TEST_LOGGER, openTestStore, temporaryFolder } from './open-test-store.ts';

const EVERY_TABLE =
  'admin_tokens agent_credentials audit catalog_entries clusters events git_credentials intents organizations receipts registration_tokens repositories resource_conditions schema_migrations signing_keys';

const ADD: Migration = {
  number: 1000,
  name: 'add',
  up: async (db) => {
    await db.schema.createTable('added').addColumn('id', 'text').execute();
  },
};
const BREAK: Migration = {
  number: 1001,
  name: 'break',
  up: async (db) => {
    await db.schema.createTable('half').addColumn('id', 'text').execute();
    await sql`INSERT INTO nowhere VALUES (1)`.execute(db);
  },
};

async function withDatabase<T>(
  folder: string,
  work: (run: (migrations: readonly Migration[]) => Promise<void>, tables: () => string[]) => Promise<T>,
): Promise<T> {
  using database = openSqlite(join(folder, 'control-plane.db'));
  const db = kyselyOver(database);
  const tables = (): string[] =>
    database
      .prepare("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name")
      .all()
      .map(({ name }) => String(name));
  return await work(async (migrations) => {
    await migrate({ db, clock: new ManualClock(), logger: TEST_LOGGER, migrations });
  }, tables);
}

describe('migrate', () => {
  it('numbers migrations upwards, each once', () => {
    const numbers = MIGRATIONS.map(({ number }) => number);
    expect(numbers).toEqual([...new Set(numbers)].sort((a, b) => a - b));
  });

  it('makes every table from nothing, once', async () => {
    using folder = temporaryFolder();
    await withDatabase(folder.path, async (run, tables) => {
      await run(MIGRATIONS);
      const made = tables();
      expect(made).toEqual(expect.arrayContaining(EVERY_TABLE.split(' ')));
      await run(MIGRATIONS);
      expect(tables()).toEqual(made);
    });
  });

  it('goes on from the version that it finds', async () => {
    using folder = temporaryFolder();
    await withDatabase(folder.path, async (run) => {
      await run(MIGRATIONS);
    });
    await withDatabase(folder.path, async (run, tables) => {
      await run([...MIGRATIONS, ADD]);
      expect(tables()).toContain('added');
    });
  });

  it('undoes all of a migration that fails, and keeps the ones before', async () => {
    using folder = temporaryFolder();
    await withDatabase(folder.path, async (run, tables) => {
      await expect(run([...MIGRATIONS, ADD, BREAK])).rejects.toThrow('migration 1001 (break) failed and was undone');
      expect(tables()).toContain('added');
      expect(tables()).not.toContain('half');
      await run([...MIGRATIONS, ADD]);
    });
  });

  it('refuses a database from a newer version, and says what to do', async () => {
    using folder = temporaryFolder();
    await withDatabase(folder.path, async (run) => {
      await run([...MIGRATIONS, ADD]);
    });
    await expect(openTestStore(folder.path)).rejects.toThrow(
      /^the database is at migration 1000 \(add\), newer than the \d+ that this version knows; start a version that knows it/,
    );
  });
});
