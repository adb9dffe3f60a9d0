import { join } from 'node:path';
import { newPostgresDatabase } from './new-database.ts';

/** Whether this run of a test is the one over PostgreSQL (`vitest.config.ts`). */
export function isOverPostgres(): boolean {
  return process.env['TEST_STORE'] === 'postgres';
}

/** The URL of a new database for one test: a file in its folder, or one of the PostgreSQL that the run shares. */
export async function testDatabaseUrl(folder: string): Promise<string> {
  return isOverPostgres() ? await newPostgresDatabase() : `sqlite:${join(folder, 'control-plane.db')}`;
}
