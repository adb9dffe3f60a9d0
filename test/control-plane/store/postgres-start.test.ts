import { createServer, type AddressInfo } from 'node:net';
import { Kysely, PostgresDialect, sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { MIGRATIONS } from '../../../src/control-plane/store/migrate.ts';
import type { Migration } from '../../../src/control-plane/store/migrations/migration.ts';
import { migratePostgres } from '../../../src/control-plane/store/postgres-migrate.ts';
import { PostgresPool } from '../../../src/control-plane/store/postgres-pool.ts';
import { readPostgresUrl } from '../../../src/control-plane/store/postgres-url.ts';
import type { Database } from '../../../src/control-plane/store/schema.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { newPostgresDatabase } from '../../support/postgres/new-database.ts';
import { queryDatabase } from '../../support/postgres/postgres-server.ts';
import { openStoreAt } from './open-store-at.ts';
import { TEST_LOGGER } from './open-test-store.ts';

/** Why a store does not open, which is one line without the password. */
async function refusal(url: string): Promise<string> {
  const [outcome] = await Promise.allSettled([openStoreAt(url)]);
  if (outcome.status === 'fulfilled') {
    await outcome.value[Symbol.asyncDispose]();
    return 'it opened';
  }
  const { message } = outcome.reason as Error;
  expect(message).not.toContain(new URL(url).password);
  expect(message).not.toContain('\n');
  return message.replaceAll(/127\.0\.0\.1:\d+/g, 'HOST').replaceAll(/test_\w+/g, 'DB');
}

describe('a PostgreSQL database that cannot be opened', () => {
  it('is told of in one line that says what to do', async () => {
    const url = await newPostgresDatabase();
    const changed = (change: (parsed: URL) => void): string => {
      const parsed = new URL(url);
      change(parsed);
      return parsed.href;
    };
    expect(await refusal(changed((to) => (to.password = 'not-this-one')))).toBe(
      'SERVICE_DATABASE_URL: HOST/DB as service: the password is not accepted; correct it in the URL (28P01)',
    );
    expect(await refusal(changed((to) => (to.pathname = '/nowhere')))).toBe(
      'SERVICE_DATABASE_URL: HOST/nowhere as service: there is no such database; make it first: CREATE DATABASE … ENCODING UTF8 (3D000)',
    );
    expect(await refusal(changed((to) => (to.port = '1')))).toBe(
      'SERVICE_DATABASE_URL: HOST/DB as service: nothing listens there; start PostgreSQL or correct the address (ECONNREFUSED)',
    );
    expect(await refusal(changed((to) => (to.hostname = 'nowhere.invalid')))).toMatch(
      /as service: the host has no address(; correct its name \(ENOTFOUND\)| now; look at the name server \(EAI_AGAIN\))$/,
    );
    expect(await refusal(`${url}?sslmode=verify-full`)).toBe(
      'SERVICE_DATABASE_URL: HOST/DB as service: the server has no TLS; give it a certificate, or add sslmode=disable to the URL where the network is trusted',
    );
    expect(await refusal(`${url}?sslmode=maybe`)).toMatch(
      /^SERVICE_DATABASE_URL: has a parameter sslmode that is none/,
    );
  });

  it('is given up when the server does not answer', async () => {
    const silent = createServer();
    await new Promise<void>((resolve) => {
      silent.listen(0, '127.0.0.1', resolve);
    });
    const { port } = silent.address() as AddressInfo;
    const said = await refusal(`postgres://user:password-of-it@127.0.0.1:${port}/service?connect_timeout=1`);
    expect(said).toBe(
      'SERVICE_DATABASE_URL: HOST/service as user: it does not answer in time; look at the address and at firewalls',
    );
    silent.close();
  });

  it('must hold texts in UTF-8', async () => {
    const url = await newPostgresDatabase();
    await queryDatabase(url, "CREATE DATABASE latin ENCODING 'LATIN1' TEMPLATE template0 LC_COLLATE 'C' LC_CTYPE 'C'");
    const latin = new URL(url);
    latin.pathname = '/latin';
    expect(await refusal(latin.href)).toContain("the database has the encoding LATIN1; make one with ENCODING 'UTF8'");
  });

  it('is not one from a newer version', async () => {
    const url = await newPostgresDatabase();
    await (await openStoreAt(url))[Symbol.asyncDispose]();
    await queryDatabase(url, "INSERT INTO schema_migrations VALUES (1000, 'later', '')");
    expect(await refusal(url)).toMatch(
      /the database is at migration 1000 \(later\), newer than the \d+ that this version/,
    );
  });
});

describe('migrations on PostgreSQL', () => {
  it('run once, however many replicas start at once', async () => {
    const url = await newPostgresDatabase();
    const stores = await Promise.all(Array.from({ length: 5 }, async () => await openStoreAt(url)));
    const applied = await queryDatabase(url, 'SELECT number FROM schema_migrations ORDER BY number');
    expect(applied.map(({ number }) => Number(number))).toEqual(MIGRATIONS.map(({ number }) => number));
    for (const store of stores) await store[Symbol.asyncDispose]();
  });

  it('undo all of one that fails, and keep the ones before', async () => {
    const url = await newPostgresDatabase();
    const broken: Migration = {
      number: 1001,
      name: 'broken',
      up: async (db) => {
        await db.schema.createTable('half').addColumn('id', 'text').execute();
        await sql`INSERT INTO nowhere VALUES (1)`.execute(db);
      },
    };
    const pool = new PostgresPool({ settings: readPostgresUrl(url), max: 1, session: {}, logger: TEST_LOGGER });
    const db = new Kysely<Database>({ dialect: new PostgresDialect({ pool }) });
    const deps = { db, clock: new ManualClock(), logger: TEST_LOGGER };
    await expect(migratePostgres({ ...deps, migrations: [...MIGRATIONS, broken] })).rejects.toThrow(
      'migration 1001 (broken) failed and was undone',
    );
    await migratePostgres(deps);
    await db.destroy();
    const tables = await queryDatabase(url, "SELECT tablename FROM pg_tables WHERE tablename IN ('half', 'clusters')");
    expect(tables).toEqual([{ tablename: 'clusters' }]);
  });

  it('make every text compare byte by byte and every number 64 bits wide', async () => {
    const url = await newPostgresDatabase();
    await (await openStoreAt(url))[Symbol.asyncDispose]();
    const odd = await queryDatabase(
      url,
      `SELECT table_name, column_name, data_type, collation_name FROM information_schema.columns
        WHERE table_schema = 'public'
          AND NOT (data_type = 'text' AND collation_name = 'C') AND NOT (data_type = 'bigint' AND collation_name IS NULL)`,
    );
    expect(odd).toEqual([]);
  });
});
