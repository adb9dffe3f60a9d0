import { sql, type Kysely } from 'kysely';
import type { Clock } from '../../runtime/clock.ts';
import type { Logger } from '../../runtime/logger.ts';
import { lockDatabase } from './data-lock.ts';
import { GroupCommit } from './group-commit.ts';
import { migrate } from './migrate.ts';
import type { Database } from './schema.ts';
import { kyselyOver, openSqlite, sqliteFile } from './sqlite-connection.ts';

/** The control plane's database. */
export interface Store extends AsyncDisposable {
  /** For reads: sees what was committed, never a write in progress. */
  readonly db: Kysely<Database>;
  /**
   * Runs `work` in a transaction and resolves after its COMMIT; a throw undoes all of it. Concurrent callers share one
   * transaction, each in its own savepoint. `work` awaits nothing but the database, through `trx`.
   *
   * @throws AppError `unavailable` when the queue is full or the disk fails
   */
  write<T>(work: (trx: Kysely<Database>) => Promise<T>): Promise<T>;
  /** Resolves when the database answers. */
  ping(): Promise<void>;
}

export interface StoreDeps {
  /** `sqlite:<file>` */
  readonly url: string;
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * Opens the database, migrates it forward and holds it for this process.
 *
 * @throws Error with one line that says what to do: another process has it, it is from a newer version, it cannot be opened
 */
export async function openStore(deps: StoreDeps): Promise<Store> {
  const file = sqliteFile(deps.url);
  using opened = new DisposableStack();
  const writer = opened.adopt(openSqlite(file), (database) => {
    database.close();
  });
  opened.use(lockDatabase(file));
  const trx = kyselyOver(writer);
  await migrate({ db: trx, clock: deps.clock, logger: deps.logger });
  const reader = opened.adopt(openSqlite(file), (database) => {
    database.close();
  });
  reader.exec('PRAGMA query_only = ON');
  const db = kyselyOver(reader);
  const writes = new GroupCommit({ database: writer, trx });
  const held = opened.move();
  return {
    db,
    write: async (work) => await writes.write(work),
    ping: async () => {
      await sql`SELECT 1`.execute(db);
    },
    [Symbol.asyncDispose]: async () => {
      await writes.close();
      held.dispose();
    },
  };
}
