import { Client } from 'pg';
import { openSqlite, sqliteFile } from '../../src/control-plane/store/sqlite-connection.ts';
import { clusterRows, intentRows, otherRows, type FleetSize, type Row } from './fleet-rows.ts';

/** Rows in one statement. */
const CHUNK = 2000;

export interface SeededFleet {
  readonly clusters: number;
  readonly intents: number;
  readonly organizationId: string;
}

/**
 * Fills a database that a control plane has migrated with a fleet like a real one, by few statements: 10,000 clusters with
 * 100,000 intents take seconds on SQLite and PostgreSQL alike. The same every time.
 *
 * @param organization name of the one whose they are; it is made if there is none
 */
export async function seedFleet(
  url: string,
  { organization = 'default', clusters = 10_000, intents = 100_000, at = '2026-11-28T12:00:00.000Z' } = {},
): Promise<SeededFleet> {
  await using target = url.startsWith('sqlite:') ? openSqliteTarget(sqliteFile(url)) : await openPostgresTarget(url);
  const known = await target.first('SELECT id FROM organizations WHERE name = ?', organization);
  const organizationId = known?.id ?? `org-${organization}`;
  if (known === undefined)
    await target.insert('organizations', [{ id: organizationId, name: organization, created_at: at }]);
  const size: FleetSize = { organizationId, organization, clusters, intents, at };
  for (const { table, rows } of [...clusterRows(size), ...intentRows(size), ...otherRows(size)]) {
    for (let start = 0; start < rows.length; start += CHUNK)
      await target.insert(table, rows.slice(start, start + CHUNK));
  }
  await target.run(
    `UPDATE applications SET observed = CASE WHEN generation % 13 = 0 THEN 'failed' ELSE 'ready' END
      WHERE organization_id = ? AND state = 'ready'`,
    organizationId,
  );
  await target.finish();
  return { clusters, intents, organizationId };
}

interface Target extends AsyncDisposable {
  first(text: string, parameter: string): Promise<{ readonly id: string } | undefined>;
  run(text: string, parameter: string): Promise<void>;
  insert(table: string, rows: readonly Row[]): Promise<void>;
  finish(): Promise<void>;
}

function openSqliteTarget(file: string): Target {
  const database = openSqlite(file);
  // What is lost with a power cut is made again.
  database.exec('PRAGMA synchronous = OFF');
  database.exec('BEGIN IMMEDIATE');
  return {
    first: async (text, parameter) => database.prepare(text).get(parameter) as never,
    run: async (text, parameter) => {
      database.prepare(text).run(parameter);
    },
    insert: async (table, rows) => {
      const columns = Object.keys(rows[0] ?? {});
      const statement = database.prepare(
        `INSERT INTO ${table} (${columns.join(', ')}) VALUES (${columns.map(() => '?').join(', ')})`,
      );
      for (const row of rows) statement.run(...columns.map((column) => row[column] ?? null));
    },
    finish: async () => {
      // Without ANALYZE, which no control plane runs on SQLite.
      database.exec('COMMIT');
    },
    [Symbol.asyncDispose]: async () => {
      database.close();
    },
  };
}

async function openPostgresTarget(url: string): Promise<Target> {
  const client = new Client({ connectionString: url });
  await client.connect();
  await client.query('BEGIN');
  return {
    first: async (text, parameter) => (await client.query(text.replace('?', '$1'), [parameter])).rows[0] as never,
    run: async (text, parameter) => {
      await client.query(text.replace('?', '$1'), [parameter]);
    },
    insert: async (table, rows) => {
      const columns = Object.keys(rows[0] ?? {}).join(', ');
      const text = `INSERT INTO ${table} (${columns}) SELECT ${columns} FROM json_populate_recordset(null::${table}, $1)`;
      await client.query(text, [JSON.stringify(rows)]);
    },
    finish: async () => {
      await client.query('COMMIT');
      // As PostgreSQL does by itself after a while.
      await client.query('ANALYZE');
    },
    [Symbol.asyncDispose]: async () => {
      await client.end();
    },
  };
}
