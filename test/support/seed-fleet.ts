import { Client } from 'pg';
import { openSqlite, sqliteFile } from '../../src/control-plane/store/sqlite-connection.ts';
import { clusterRows, intentRows, otherRows, type FleetSize, type Row } from './fleet-rows.ts';

/** Rows in one statement. */
const CHUNK = 2000;

const LARGE = ['clusters', 'cluster_labels', 'intents', 'applications', 'receipts', 'resource_conditions', 'jobs'];

export interface SeededFleet {
  readonly clusters: number;
  readonly intents: number;
  readonly organizationId: string;
}

/**
 * Fills a database that a control plane has migrated with a fleet like a real one, by few statements and with the indexes
 * made once all rows are there: 10,000 clusters with 100,000 intents take seconds on SQLite and PostgreSQL alike. The same
 * every time.
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
  const indexes = await target.indexes();
  for (const { name } of indexes) await target.run(`DROP INDEX ${name}`);
  for (const { table, rows } of [...clusterRows(size), ...intentRows(size), ...otherRows(size)]) {
    for (let start = 0; start < rows.length; start += CHUNK)
      await target.insert(table, rows.slice(start, start + CHUNK));
  }
  await target.fillApplications(organizationId);
  await target.run(
    `UPDATE applications SET observed = CASE WHEN generation % 13 = 0 THEN 'failed' ELSE 'ready' END
      WHERE organization_id = ? AND state = 'ready'`,
    organizationId,
  );
  for (const { definition } of indexes) await target.run(definition);
  await target.finish();
  return { clusters, intents, organizationId };
}

interface Index {
  readonly name: string;
  readonly definition: string;
}

interface Target extends AsyncDisposable {
  first(text: string, parameter: string): Promise<{ readonly id: string } | undefined>;
  /** Those of the tables that are large, without what a constraint keeps. */
  indexes(): Promise<readonly Index[]>;
  run(text: string, ...parameters: readonly string[]): Promise<void>;
  insert(table: string, rows: readonly Row[]): Promise<void>;
  /** What triggers have not made. */
  fillApplications(organizationId: string): Promise<void>;
  finish(): Promise<void>;
}

function openSqliteTarget(file: string): Target {
  const database = openSqlite(file);
  // What is lost with a power cut is made again.
  database.exec('PRAGMA synchronous = OFF');
  // KiB: all of it, rather than writing pages again and again.
  database.exec('PRAGMA cache_size = -400000');
  database.exec('BEGIN IMMEDIATE');
  return {
    first: async (text, parameter) => database.prepare(text).get(parameter) as never,
    indexes: async () =>
      database
        .prepare(
          `SELECT name, sql AS definition FROM sqlite_master
            WHERE type = 'index' AND sql IS NOT NULL AND tbl_name IN ('${LARGE.join("', '")}')`,
        )
        .all() as unknown as Index[],
    run: async (text, ...parameters) => {
      database.prepare(text).run(...parameters);
    },
    insert: async (table, rows) => {
      const columns = Object.keys(rows[0] ?? {});
      const statement = database.prepare(
        `INSERT INTO ${table} (${columns.join(', ')}) VALUES (${columns.map(() => '?').join(', ')})`,
      );
      for (const row of rows) statement.run(...columns.map((column) => row[column] ?? null));
    },
    fillApplications: async () => undefined,
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
  // No trigger for each of 100,000 rows, nor the checks of foreign keys, which are triggers too.
  await client.query('SET LOCAL session_replication_role = replica');
  return {
    first: async (text, parameter) => (await client.query(text.replace('?', '$1'), [parameter])).rows[0] as never,
    indexes: async () =>
      (
        await client.query<Index>(
          `SELECT indexname AS name, indexdef AS definition FROM pg_indexes
            WHERE schemaname = current_schema() AND tablename = ANY ($1)
              AND indexname NOT IN (SELECT conname FROM pg_constraint)`,
          [LARGE],
        )
      ).rows,
    run: async (text, ...parameters) => {
      await client.query(text.replace('?', '$1'), [...parameters]);
    },
    insert: async (table, rows) => {
      const columns = Object.keys(rows[0] ?? {}).join(', ');
      const text = `INSERT INTO ${table} (${columns}) SELECT ${columns} FROM json_populate_recordset(null::${table}, $1)`;
      await client.query(text, [JSON.stringify(rows)]);
    },
    fillApplications: async (organizationId) => {
      await client.query(
        `INSERT INTO applications (organization_id, cluster_id, namespace, name, intent_id, generation, action,
            catalog_entry, version, state, reached, observed_version)
          SELECT DISTINCT ON (cluster_id, namespace, name) organization_id, cluster_id, namespace, name, id, generation,
            action, catalog_entry, chart_version, state, CASE WHEN applied_at IS NULL THEN 0 ELSE 1 END,
            first_value(chart_version) OVER (PARTITION BY cluster_id, namespace, name
              ORDER BY CASE WHEN state = 'ready' THEN 0 ELSE 1 END, generation DESC)
          FROM intents WHERE organization_id = $1 AND target_kind = 'ApplicationInstance'
          ORDER BY cluster_id, namespace, name, generation DESC`,
        [organizationId],
      );
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
