import { CompiledQuery, type Kysely } from 'kysely';
import type { Clock } from '../../runtime/clock.ts';
import type { Logger } from '../../runtime/logger.ts';
import { migrate, MIGRATIONS } from './migrate.ts';
import type { Migration } from './migrations/migration.ts';
import { PortableColumns } from './portable-columns.ts';
import type { Database } from './schema.ts';

/** Any number that nothing else in this database locks: 'service' in ASCII. */
const MIGRATION_LOCK = '32491041893803877';

/** The oldest version that its makers still mend. */
const OLDEST_VERSION = 14;

/** A migration waits so long for its tables: who asks for one keeps everybody behind it waiting too. */
const TABLE_LOCK_MS = 30_000;
/** Another replica that migrates is waited for. */
const REPLICA_MS = 10 * 60_000;

/**
 * Checks the server and brings the database forward, one replica after the other; the later ones find it done.
 *
 * @throws Error with one line that says what to do
 */
export async function migratePostgres(deps: {
  readonly db: Kysely<Database>;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly migrations?: readonly Migration[];
}): Promise<void> {
  const { clock, logger, migrations = MIGRATIONS } = deps;
  await deps.db.connection().execute(async (db) => {
    await checkServer(db);
    await run(db, `SET statement_timeout = 0; SET lock_timeout = ${REPLICA_MS}`);
    await run(db, `SELECT pg_advisory_lock(${MIGRATION_LOCK})`);
    try {
      await run(db, `SET lock_timeout = ${TABLE_LOCK_MS}`);
      await migrate({ db: db.withPlugin(new PortableColumns()), clock, logger, migrations });
    } finally {
      await run(db, `SELECT pg_advisory_unlock(${MIGRATION_LOCK}); RESET statement_timeout; RESET lock_timeout`);
    }
  });
}

async function checkServer(db: Kysely<Database>): Promise<void> {
  const { rows } = await run(
    db,
    `SELECT current_setting('server_version_num')::int / 10000 AS version, current_setting('server_version') AS named,
            current_setting('server_encoding') AS encoding, pg_is_in_recovery() AS standby`,
  );
  const [server] = rows as { version: number; named: string; encoding: string; standby: boolean }[];
  if (server === undefined) throw new Error('the server does not say what it is');
  if (server.version < OLDEST_VERSION) {
    throw new Error(`the server is PostgreSQL ${server.named}; ${OLDEST_VERSION} or later is needed`);
  }
  if (server.encoding !== 'UTF8') {
    throw new Error(`the database has the encoding ${server.encoding}; make one with ENCODING 'UTF8'`);
  }
  if (server.standby) throw new Error('the server is a standby, which takes no writes; name the primary');
}

async function run(db: Kysely<Database>, statement: string): Promise<{ readonly rows: readonly unknown[] }> {
  return await db.executeQuery(CompiledQuery.raw(statement));
}
