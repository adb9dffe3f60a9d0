import { closeSync, openSync } from 'node:fs';
import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite';
import { Kysely, SqliteDialect, type SqliteDatabase, type SqliteStatement } from 'kysely';
import type { Database } from './schema.ts';
import { asStoreError } from './sqlite-error.ts';

/** Prepared statements that are kept. Every query of the program has a place; only bulk statements of odd sizes rotate. */
const MAX_STATEMENTS = 512;

const BUSY_TIMEOUT_MS = 5000;

/** Path of a `sqlite:<file>` URL. A database in memory is refused: it could not be shared by reader and writer. */
export function sqliteFile(url: string): string {
  const file = url.startsWith('sqlite:') ? url.slice('sqlite:'.length).replace(/^\/\/(?=\/)/, '') : '';
  if (file === '' || file.startsWith(':')) {
    throw new Error(`the database URL must be sqlite:<file>, such as sqlite:./data/control-plane.db`);
  }
  return file;
}

/**
 * Opens a connection with what durability needs: WAL, and FULL so that a COMMIT that returned survives a power cut
 * (https://www.sqlite.org/pragma.html#pragma_synchronous). The file is readable by its owner alone: it holds sealed keys.
 */
export function openSqlite(file: string): DatabaseSync {
  closeSync(openSync(file, 'a', 0o600));
  const database = new DatabaseSync(file, { timeout: BUSY_TIMEOUT_MS, enableForeignKeyConstraints: true });
  try {
    database.exec('PRAGMA journal_mode = WAL');
    database.exec('PRAGMA synchronous = FULL');
    // Pages that many transactions change, such as current status, are written back once for all of them.
    database.exec('PRAGMA wal_autocheckpoint = 4000');
    database.exec('PRAGMA journal_size_limit = 67108864');
    database.exec('PRAGMA cache_size = -32768');
  } catch (error) {
    database.close();
    throw error;
  }
  return database;
}

/** Kysely over one connection of node:sqlite. Who opened the connection closes it. */
export function kyselyOver(database: DatabaseSync): Kysely<Database> {
  return new Kysely<Database>({ dialect: new SqliteDialect({ database: new StatementCache(database) }) });
}

/** Gives Kysely's dialect the shape it knows, and keeps statements prepared: preparing costs more than most of them run. */
class StatementCache implements SqliteDatabase {
  readonly #database: DatabaseSync;
  readonly #statements = new Map<string, SqliteStatement>();

  constructor(database: DatabaseSync) {
    this.#database = database;
  }

  prepare(sql: string): SqliteStatement {
    const known = this.#statements.get(sql);
    if (known !== undefined) {
      this.#statements.delete(sql);
      this.#statements.set(sql, known);
      return known;
    }
    const statement = guarded(() => new Statement(this.#database.prepare(sql)));
    this.#statements.set(sql, statement);
    if (this.#statements.size > MAX_STATEMENTS) {
      const [oldest] = this.#statements.keys();
      if (oldest !== undefined) this.#statements.delete(oldest);
    }
    return statement;
  }

  close(): void {
    this.#statements.clear();
  }
}

class Statement implements SqliteStatement {
  readonly reader: boolean;
  readonly #statement: StatementSync;

  constructor(statement: StatementSync) {
    this.#statement = statement;
    this.reader = statement.columns().length > 0;
  }

  all(parameters: readonly unknown[]): unknown[] {
    return guarded(() => this.#statement.all(...(parameters as SQLInputValue[])));
  }

  run(parameters: readonly unknown[]): { changes: number | bigint; lastInsertRowid: number | bigint } {
    return guarded(() => this.#statement.run(...(parameters as SQLInputValue[])));
  }

  iterate(parameters: readonly unknown[]): IterableIterator<unknown> {
    return this.#statement.iterate(...(parameters as SQLInputValue[]));
  }
}

function guarded<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw asStoreError(error);
  }
}
