import type { Kysely } from 'kysely';
import type { Clock } from '../../runtime/clock.ts';
import type { Logger } from '../../runtime/logger.ts';
import { openPostgresStore } from './postgres-store.ts';
import { isPostgresUrl } from './postgres-url.ts';
import type { PostgresSession } from './postgres-session.ts';
import type { Database } from './schema.ts';
import { openSqliteStore } from './sqlite-store.ts';
import { tellChanges } from './tell-changes.ts';
import { watchWrites } from './watch-writes.ts';

export interface WriteOptions {
  /** A small write that a cluster waits for, as an ack: it goes before those that can wait, as a post of events. */
  readonly urgent?: boolean;
}

/** The control plane's database. */
export interface Store extends AsyncDisposable {
  /** For reads: sees what was committed, never a write in progress. */
  readonly db: Kysely<Database>;
  /**
   * Runs `work` in a transaction and resolves after its COMMIT; a throw undoes all of it. Writes run as if one came after
   * the other, over all replicas. `work` awaits nothing but the database, through `trx`, and changes nothing outside of
   * it: on PostgreSQL it runs again from its beginning when another write came in between. A statement that failed ends
   * the transaction; `work` must not go on after it.
   *
   * @throws AppError `unavailable` when the queue is full, the disk fails or the database cannot be reached
   */
  write<T>(work: (trx: Kysely<Database>) => Promise<T>, options?: WriteOptions): Promise<T>;
  /** Resolves when the database answers and, as far as is known, takes writes. */
  ping(): Promise<void>;
  /** Calls back after each commit of this process that stored changes (`noteChange`). */
  onChanges?(listener: () => void): void;
  /** Writes of this process that wait for their turn. */
  writesWaiting?(): number;
  /** What replicas over one PostgreSQL tell each other through; absent on SQLite, which one process has for itself. */
  readonly session?: PostgresSession;
}

export interface StoreDeps {
  /** `sqlite:<file>`, or `postgres://user:password@host:5432/database` for several replicas */
  readonly url: string;
  readonly clock: Clock;
  readonly logger: Logger;
  /** A number in [0, 1), for waits between tries. */
  readonly random?: () => number;
}

/**
 * Opens the database and migrates it forward.
 *
 * @throws Error with one line that says what to do, without the URL's password: it cannot be reached or opened, another
 *   process has it, it is from a newer version
 */
export async function openStore(deps: StoreDeps): Promise<Store> {
  const store = isPostgresUrl(deps.url) ? await openPostgresStore(deps) : await openSqliteStore(deps);
  return tellChanges(watchWrites(store, deps.clock), deps.clock);
}
