import { PostgresAdapter, sql, type Kysely } from 'kysely';
import { table } from './table.ts';

/** See `ApplicationRow.health`. What was delivered counts, then what was reported, then what was asked for. */
const HEALTH = sql`CASE
  WHEN state = 'removed' THEN 'gone'
  WHEN state IN ('delivered', 'applied') THEN 'progressing'
  WHEN state = 'failed' AND reached = 1 THEN 'degraded'
  WHEN observed = 'ready' THEN 'healthy'
  WHEN observed = 'failed' THEN 'degraded'
  WHEN observed = 'progressing' THEN 'progressing'
  WHEN state = 'ready' THEN 'healthy'
  WHEN state = 'failed' THEN 'degraded'
  WHEN state IN ('accepted', 'proposed') THEN 'progressing'
  ELSE 'gone' END`;

const COPIED = `intent_id = excluded.intent_id, generation = excluded.generation, action = excluded.action,
  state = excluded.state, reached = excluded.reached,
  catalog_entry = coalesce(excluded.catalog_entry, applications.catalog_entry),
  version = coalesce(excluded.version, applications.version),
  observed_version = coalesce(excluded.observed_version, applications.observed_version),
  observed = CASE WHEN excluded.state = 'removed' THEN NULL ELSE applications.observed END`;

const COLUMNS = `organization_id, cluster_id, namespace, name, intent_id, generation, action, catalog_entry, version,
  state, reached, observed_version`;
const OF_INTENT = `organization_id, cluster_id, namespace, name, id, generation, action, catalog_entry, chart_version,
  state, CASE WHEN applied_at IS NULL THEN 0 ELSE 1 END, CASE WHEN state = 'ready' THEN chart_version END`;

/** The newest intent of an object of which something came, or may come; of those that were superseded the last. */
const FOLLOW = `INSERT INTO applications (${COLUMNS}) SELECT ${OF_INTENT} FROM intents
  WHERE cluster_id = NEW.cluster_id AND target_kind = 'ApplicationInstance' AND namespace = NEW.namespace AND name = NEW.name
  ORDER BY CASE WHEN state = 'superseded' THEN 1 ELSE 0 END, generation DESC LIMIT 1
  ON CONFLICT (cluster_id, namespace, name) DO UPDATE SET ${COPIED};`;

/** What lists filter by, and then the order in which they are paged. */
const INDEXES: Readonly<Record<string, string>> = {
  order: 'organization_id cluster_id namespace name',
  state: 'organization_id state cluster_id namespace name',
  health: 'organization_id health cluster_id namespace name',
  entry: 'organization_id catalog_entry cluster_id namespace name',
  namespace: 'organization_id namespace cluster_id name',
  name: 'organization_id name cluster_id namespace',
  counts: 'cluster_id health',
};

/**
 * One row for each application, which its intents keep by triggers: twenty places move an intent, and none of them can
 * forget it. Lists and counts of applications then need not look through the intents that there ever were.
 */
export async function applicationRows(db: Kysely<unknown>): Promise<void> {
  await table(
    db,
    'applications',
    'organization_id cluster_id namespace name intent_id action state',
    'catalog_entry version observed observed_version',
  )
    .addColumn('generation', 'integer', (column) => column.notNull())
    .addColumn('reached', 'integer', (column) => column.notNull())
    .addColumn('health', 'text', (column) => column.generatedAlwaysAs(HEALTH).stored())
    .addPrimaryKeyConstraint('applications_pk', ['cluster_id', 'namespace', 'name'])
    .addForeignKeyConstraint('applications_cluster', ['cluster_id'], 'clusters', ['id'])
    .execute();
  for (const [name, columns] of Object.entries(INDEXES)) {
    await db.schema.createIndex(`applications_${name}`).on('applications').columns(columns.split(' ')).execute();
  }
  await present(db);
  if (db.getExecutor().adapter instanceof PostgresAdapter) await postgresTrigger(db);
  else await sqliteTriggers(db);
}

/** Of what was asked for before there were these rows. */
async function present(db: Kysely<unknown>): Promise<void> {
  await sql`${sql.raw(`INSERT INTO applications (${COLUMNS}) SELECT ${OF_INTENT} FROM intents AS newest
    WHERE target_kind = 'ApplicationInstance' AND id = (SELECT id FROM intents
      WHERE cluster_id = newest.cluster_id AND target_kind = 'ApplicationInstance'
        AND namespace = newest.namespace AND name = newest.name
      ORDER BY CASE WHEN state = 'superseded' THEN 1 ELSE 0 END, generation DESC LIMIT 1)`)}`.execute(db);
}

async function postgresTrigger(db: Kysely<unknown>): Promise<void> {
  await sql`${sql.raw(`CREATE FUNCTION follow_intent() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN ${FOLLOW} RETURN NULL; END $$`)}`.execute(db);
  await sql`CREATE TRIGGER applications_follow AFTER INSERT OR UPDATE OF state, generation, applied_at ON intents
    FOR EACH ROW WHEN (NEW.target_kind = 'ApplicationInstance') EXECUTE FUNCTION follow_intent()`.execute(db);
}

async function sqliteTriggers(db: Kysely<unknown>): Promise<void> {
  const triggers = { inserted: 'INSERT', moved: 'UPDATE OF state, generation, applied_at' };
  for (const [name, event] of Object.entries(triggers)) {
    await sql`${sql.raw(`CREATE TRIGGER applications_follow_${name} AFTER ${event} ON intents
      WHEN NEW.target_kind = 'ApplicationInstance' BEGIN ${FOLLOW} END`)}`.execute(db);
  }
}
