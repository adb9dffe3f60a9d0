import { sql } from 'kysely';
import { lockDatabase } from './data-lock.ts';
import { GroupCommit } from './group-commit.ts';
import { migrate } from './migrate.ts';
import type { Store, StoreDeps } from './open-store.ts';
import { kyselyOver, openSqlite, sqliteFile } from './sqlite-connection.ts';

/**
 * Opens a database file, migrates it forward and holds it for this process.
 *
 * @throws Error with one line that says what to do: another process has it, it is from a newer version, it cannot be opened
 */
export async function openSqliteStore(deps: StoreDeps): Promise<Store> {
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
    write: async (work, options) => await writes.write(work, options),
    writesWaiting: () => writes.waiting,
    ping: async () => {
      await sql`SELECT 1`.execute(db);
    },
    [Symbol.asyncDispose]: async () => {
      await writes.close();
      held.dispose();
    },
  };
}
