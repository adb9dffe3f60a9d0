import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

type Parameter = string | number;

/** One statement on a database of either kind, with `?` for its parameters. It waits: a test says what it expects in one line. */
export function queryNow(url: string, text: string, parameters: readonly Parameter[]): Record<string, unknown>[] {
  return url.startsWith('sqlite:')
    ? querySqlite(url.slice('sqlite:'.length), text, parameters)
    : queryPostgres(url, text, parameters);
}

function querySqlite(file: string, text: string, parameters: readonly Parameter[]): Record<string, unknown>[] {
  const database = new DatabaseSync(file, { timeout: 5000 });
  try {
    return database.prepare(text).all(...parameters);
  } finally {
    database.close();
  }
}

function queryPostgres(url: string, text: string, parameters: readonly Parameter[]): Record<string, unknown>[] {
  let place = 0;
  const numbered = text.replaceAll('?', () => `$${(place += 1)}`);
  const child = spawnSync(process.execPath, [join(import.meta.dirname, 'query-once.ts')], {
    encoding: 'utf8',
    input: JSON.stringify({ url, text: numbered, parameters }),
  });
  if (child.status !== 0) throw new Error(`${text}: ${child.stderr}`);
  return JSON.parse(child.stdout) as Record<string, unknown>[];
}
