import { DatabaseSync } from 'node:sqlite';

/**
 * Holds a database file for one process, until disposed or until the process ends in any way. It is SQLite's own lock on
 * a file beside the database: the system drops it with the process, so a `kill -9` leaves nothing to clean up.
 */
export function lockDatabase(file: string): Disposable {
  const lock = new DatabaseSync(`${file}.lock`, { timeout: 0 });
  try {
    lock.exec('PRAGMA journal_mode = MEMORY');
    lock.exec('BEGIN EXCLUSIVE');
  } catch (error) {
    lock.close();
    throw new Error(
      `${file} is in use by another control plane; stop it first, or give this one its own SERVICE_DATA_DIR`,
      { cause: error },
    );
  }
  return {
    [Symbol.dispose]: () => {
      lock.close();
    },
  };
}
