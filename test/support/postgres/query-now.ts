import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { Client } from 'pg';

type Parameter = string | number;

/**
 * One statement on a database of either kind, with `?` for its parameters. All of this process waits for it: a test says what
 * it expects in one line. So nothing that may wait for a transaction of this process, which would never end.
 */
export function queryNow(url: string, text: string, parameters: readonly Parameter[]): Record<string, unknown>[] {
  return url.startsWith('sqlite:')
    ? querySqlite(url.slice('sqlite:'.length), text, parameters)
    : queryPostgres(url, text, parameters);
}

/** One statement that changes rows, while this process goes on: it may have to wait until a transaction of it has ended. */
export async function executeSoon(url: string, text: string, parameters: readonly Parameter[]): Promise<void> {
  if (url.startsWith('sqlite:')) {
    querySqlite(url.slice('sqlite:'.length), text, parameters);
    return;
  }
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(numbered(text), [...parameters]);
  } finally {
    await client.end();
  }
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
  const child = spawnSync(process.execPath, [join(import.meta.dirname, 'query-once.ts')], {
    encoding: 'utf8',
    input: JSON.stringify({ url, text: numbered(text), parameters }),
  });
  if (child.status !== 0) throw new Error(`${text}: ${child.stderr}`);
  return JSON.parse(child.stdout) as Record<string, unknown>[];
}

function numbered(text: string): string {
  let place = 0;
  return text.replaceAll('?', () => `$${(place += 1)}`);
}
