import type { Kysely } from 'kysely';

/** One numbered step of the database's form. Runs inside a transaction that `migrate` holds. */
export interface Migration {
  readonly number: number;
  readonly name: string;
  up(db: Kysely<unknown>): Promise<void>;
}
