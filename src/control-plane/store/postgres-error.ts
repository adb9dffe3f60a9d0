import { DatabaseError } from 'pg';
import { AppError } from '../../protocol/app-error.ts';

const STANDBY = 'the database takes no writes; a standby was reached, or it is failing over';
const CHANGED = 'the database was just changed by a newer version';

/** SQLSTATEs (https://www.postgresql.org/docs/current/errcodes-appendix.html) that a later attempt may not meet again. */
const PASSING = new Map<string, string>([
  ['25006', STANDBY],
  ['25P03', 'the transaction was idle for too long'],
  ['25P04', 'the transaction took too long'],
  ['28000', 'the database does not let this control plane in'],
  ['28P01', 'the database does not let this control plane in'],
  ['3D000', 'the database is not there'],
  ['40001', 'too many others wrote the same at once'],
  ['40P01', 'too many others wrote the same at once'],
  ['55006', 'the database is in use by something else'],
  ['55P03', 'the database is locked'],
  ['57014', 'the database took too long'],
  ['58030', 'the disk of the database failed'],
]);

/** Classes of SQLSTATEs, by their first two characters. */
const PASSING_CLASSES = new Map<string, string>([
  ['08', 'the connection to the database was lost'],
  ['53', 'the database is out of space, memory or connections'],
  ['57', 'the database is shutting down or starting'],
]);

const RETRY_AFTER_SECONDS = 5;

/** A row of an index has at most 2,704 bytes; what does not fit is longer than anything the protocol has a use for. */
const PROGRAM_LIMIT_EXCEEDED = '54000';

/**
 * A fault of a PostgreSQL connection in the program's words: what may pass becomes `unavailable` (503 with Retry-After).
 * Whatever the driver throws that no server said is a fault of the connection.
 */
export function asPostgresError(error: unknown): unknown {
  if (error instanceof AppError) return error;
  const code = error instanceof DatabaseError ? error.code : undefined;
  if (code === PROGRAM_LIMIT_EXCEEDED) {
    return new AppError('constraint_violated', 'a value is too long to be stored', { cause: error });
  }
  const message = passingMessage(error, code);
  if (message === undefined) return error;
  return unavailable(`${message}; nothing was stored, try again`, error);
}

export function unavailable(message: string, cause?: unknown): AppError {
  return new AppError('unavailable', message, { cause, retryAfterSeconds: RETRY_AFTER_SECONDS });
}

function passingMessage(error: unknown, code: string | undefined): string | undefined {
  if (!(error instanceof DatabaseError)) return 'the database cannot be reached';
  if (code === undefined) return undefined;
  // A standby says so by refusing the isolation level; a statement that was prepared before a newer version changed its
  // tables is refused once on each connection.
  if (code === '0A000' && error.message.includes('hot standby')) return STANDBY;
  if (code === '0A000' && error.message.includes('cached plan')) return CHANGED;
  return PASSING.get(code) ?? PASSING_CLASSES.get(code.slice(0, 2));
}

/** SQLSTATE of an error or of what it was made from. */
export function sqlState(error: unknown): string | undefined {
  if (error instanceof DatabaseError) return error.code;
  return error instanceof Error && error.cause instanceof DatabaseError ? error.cause.code : undefined;
}

/** True when the connection that it came from is of no more use: it is gone, out of step, or reaches a standby. */
export function endsConnection(error: unknown): boolean {
  if (!(error instanceof DatabaseError)) return true;
  const message = passingMessage(error, error.code);
  return error.severity !== 'ERROR' || message === STANDBY || message === CHANGED;
}

/** Of those that write the same at once, all but one get this; their work is done again from its beginning. */
export function isSerializationFailure(error: unknown): boolean {
  const code = sqlState(error);
  return code === '40001' || code === '40P01';
}

/** True for a broken unique constraint. */
export function isPostgresUniqueViolation(error: unknown): boolean {
  return sqlState(error) === '23505';
}
