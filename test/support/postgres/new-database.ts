import { inject } from 'vitest';

/** The URL of a new, empty database on the PostgreSQL that the tests of this run share. */
export async function newPostgresDatabase(): Promise<string> {
  const answer = await fetch(inject('postgresUrl'), { method: 'POST' });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`no PostgreSQL for the tests: ${text}`);
  return text;
}
