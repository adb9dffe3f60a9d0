import { AppError } from '../../protocol/app-error.ts';

/** SQLite's primary result codes (https://www.sqlite.org/rescode.html) that a later attempt may not meet again. */
const PASSING = new Map<number, string>([
  [5, 'the database is locked'],
  [6, 'the database is locked'],
  [7, 'the database is out of memory'],
  [8, 'the database cannot be written'],
  [10, 'the disk of the database failed'],
  [13, 'the disk of the database is full'],
  [14, 'the database file cannot be opened'],
]);

/** SQLITE_CONSTRAINT_PRIMARYKEY and SQLITE_CONSTRAINT_UNIQUE. */
const UNIQUE_VIOLATIONS = new Set([1555, 2067]);

const RETRY_AFTER_SECONDS = 5;

/** A fault of disk, memory or locks becomes `unavailable` (503 with Retry-After); anything else stays as it is. */
export function asStoreError(error: unknown): unknown {
  const code = sqliteCode(error);
  const message = code === undefined ? undefined : PASSING.get(code & 0xff);
  if (message === undefined) return error;
  return new AppError('unavailable', `${message}; nothing was stored, try again`, {
    cause: error,
    retryAfterSeconds: RETRY_AFTER_SECONDS,
  });
}

/** True for a broken unique constraint: somebody else was first. */
export function isSqliteUniqueViolation(error: unknown): boolean {
  const code = sqliteCode(error);
  return code !== undefined && UNIQUE_VIOLATIONS.has(code);
}

/** The extended result code that node:sqlite puts on its errors. */
function sqliteCode(error: unknown): number | undefined {
  if (!(error instanceof Error) || !('errcode' in error)) return undefined;
  return typeof error.errcode === 'number' ? error.errcode : undefined;
}
