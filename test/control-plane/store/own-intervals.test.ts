import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { migrate, MIGRATIONS } from '../../../src/control-plane/store/migrate.ts';
import { kyselyOver, openSqlite } from '../../../src/control-plane/store/sqlite-connection.ts';
import { DEFAULT_INTERVALS } from '../../../src/protocol/agent-config.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { TEST_LOGGER, temporaryFolder } from './open-test-store.ts';

describe('clusters of version 0.2, each of which had all intervals of its own', () => {
  it('keep what was set on them and follow their organization in the rest', async () => {
    using folder = temporaryFolder();
    using database = openSqlite(join(folder.path, 'control-plane.db'));
    const db = kyselyOver(database);
    const run = async (migrations: typeof MIGRATIONS): Promise<void> => {
      await migrate({ db, clock: new ManualClock(), logger: TEST_LOGGER, migrations });
    };
    await run(MIGRATIONS.filter(({ number }) => number < 4));
    database.exec("INSERT INTO organizations (id, name, created_at) VALUES ('org-1', 'first', '')");
    const columns =
      'id, organization_id, slug, display_name, status, connectivity_mode, delivery_epoch, config_revision';
    const lists =
      'allowed_namespaces, allowed_catalog_entries, allowed_operation_templates, security, intervals, created_at';
    const insert = database.prepare(
      `INSERT INTO clusters (${columns}, ${lists}) VALUES (?, 'org-1', ?, '', 'Active', 'gitops', 1, 1, '[]', '[]', '[]', '{}', ?, '')`,
    );
    const set = { ...DEFAULT_INTERVALS, rotate_seconds: 3600, event_batch_ms: 20 };
    insert.run('c-1', 'plain', JSON.stringify(DEFAULT_INTERVALS));
    insert.run('c-2', 'set', JSON.stringify(set));
    await run(MIGRATIONS);
    const rows = await db
      .selectFrom('clusters')
      .select(['slug', 'intervals', 'own_intervals'])
      .orderBy('slug')
      .execute();
    expect(rows).toEqual([
      { slug: 'plain', intervals: JSON.stringify(DEFAULT_INTERVALS), own_intervals: null },
      { slug: 'set', intervals: JSON.stringify(set), own_intervals: '{"rotate_seconds":3600,"event_batch_ms":20}' },
    ]);
  });
});
