import { isPostgresUniqueViolation } from './postgres-error.ts';
import { isSqliteUniqueViolation } from './sqlite-error.ts';

/** True for a broken unique constraint: somebody else was first. */
export function isUniqueViolation(error: unknown): boolean {
  return isSqliteUniqueViolation(error) || isPostgresUniqueViolation(error);
}
