import { sql, type Kysely } from 'kysely';
import type { Clock } from '../../runtime/clock.ts';
import type { Logger } from '../../runtime/logger.ts';
import { initialTables } from './migrations/0001-initial-tables.ts';
import { requestKeys } from './migrations/0002-request-keys.ts';
import { desiredOperatorVersion } from './migrations/0003-desired-operator-version.ts';
import { pullAndIdentity } from './migrations/0004-pull-and-identity.ts';
import { gitEngine } from './migrations/0005-git-engine.ts';
import { modes } from './migrations/0006-modes.ts';
import { operations } from './migrations/0007-operations.ts';
import { people } from './migrations/0008-people.ts';
import type { Migration } from './migrations/migration.ts';
import type { Database } from './schema.ts';

/** In order. A released migration is never edited; a change is a new one at the end. */
export const MIGRATIONS: readonly Migration[] = [
  initialTables,
  requestKeys,
  desiredOperatorVersion,
  pullAndIdentity,
  gitEngine,
  modes,
  operations,
  people,
];

interface MigrationTable {
  schema_migrations: { number: number; name: string; applied_at: string };
}

/**
 * Brings the database to this version: each migration once, in its number's order, in one transaction with its record.
 *
 * @throws Error when the database was written by a newer version: going on could destroy what this version cannot read
 */
export async function migrate(deps: {
  readonly db: Kysely<Database>;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly migrations?: readonly Migration[];
}): Promise<void> {
  const { clock, logger, migrations = MIGRATIONS } = deps;
  const db = deps.db as unknown as Kysely<MigrationTable>;
  await db.schema
    .createTable('schema_migrations')
    .ifNotExists()
    .addColumn('number', 'integer', (column) => column.primaryKey())
    .addColumn('name', 'text', (column) => column.notNull())
    .addColumn('applied_at', 'text', (column) => column.notNull())
    .execute();
  const newest = migrations.at(-1)?.number ?? 0;
  const applied = await db.selectFrom('schema_migrations').selectAll().orderBy('number').execute();
  const newer = applied.find(({ number }) => number > newest);
  if (newer !== undefined) {
    throw new Error(
      `the database is at migration ${newer.number} (${newer.name}), newer than the ${newest} that this version knows; ` +
        'start a version that knows it, or restore a backup from before the upgrade',
    );
  }
  const done = new Set(applied.map(({ number }) => number));
  for (const migration of migrations.filter(({ number }) => !done.has(number))) {
    await sql`BEGIN`.execute(db);
    try {
      await migration.up(db as unknown as Kysely<unknown>);
      await db
        .insertInto('schema_migrations')
        .values({ number: migration.number, name: migration.name, applied_at: clock.now().toISOString() })
        .execute();
      await sql`COMMIT`.execute(db);
    } catch (error) {
      await sql`ROLLBACK`.execute(db);
      throw new Error(`migration ${migration.number} (${migration.name}) failed and was undone`, { cause: error });
    }
    logger.info({ migration: migration.number, name: migration.name }, 'database migrated');
  }
}
