import { sql } from 'kysely';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { migrate, MIGRATIONS } from '../../../src/control-plane/store/migrate.ts';
import { kyselyOver, openSqlite } from '../../../src/control-plane/store/sqlite-connection.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { temporaryFolder, TEST_LOGGER } from '../store/open-test-store.ts';

it('learns of which entry each intent of an earlier version is, however many there are', async () => {
  using folder = temporaryFolder();
  using database = openSqlite(join(folder.path, 'control-plane.db'));
  const db = kyselyOver(database);
  const upTo = async (number: number): Promise<void> => {
    const migrations = MIGRATIONS.filter((migration) => migration.number <= number);
    await migrate({ db, clock: new ManualClock(), logger: TEST_LOGGER, migrations });
  };
  await upTo(6);
  await sql`INSERT INTO organizations (id, name, created_at) VALUES ('org', 'org', '')`.execute(db);
  database.exec('PRAGMA foreign_keys = OFF');
  database.exec('BEGIN');
  for (let at = 0; at < 1203; at += 1) {
    const [action, entry] = at % 3 === 0 ? ['uninstall', {}] : ['install', { catalogEntry: `entry-${at % 3}` }];
    await sql`INSERT INTO intents (id, organization_id, cluster_id, target_kind, namespace, name, generation, action, record, idempotency_key, state, requested_by, accepted_at)
      VALUES (${`int-${at}`}, 'org', 'c', 'ApplicationInstance', 'shop', ${`app-${at}`}, 1, ${action}, ${JSON.stringify({ action, ...entry })}, ${`key-${at}`}, 'ready', 'anna', '')`.execute(
      db,
    );
  }
  database.exec('COMMIT');
  await upTo(7);
  const { rows } =
    await sql`SELECT catalog_entry AS entry, count(*) AS count FROM intents GROUP BY 1 ORDER BY 1`.execute(db);
  expect(rows).toEqual([
    { entry: null, count: 401 },
    { entry: 'entry-1', count: 401 },
    { entry: 'entry-2', count: 401 },
  ]);
});
