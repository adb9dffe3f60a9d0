import { sql, type Kysely } from 'kysely';
import type { Database } from '../schema.ts';
import type { Migration } from './migration.ts';
import { index, table } from './table.ts';

/** Jobs, what rotation and client certificates remember, and the discussion channel with its outbox. */
export const pullAndIdentity: Migration = {
  number: 4,
  name: 'pull-and-identity',
  up: async (db) => {
    await identity(db);
    await jobs(db);
    await channel(db);
    await heartbeats(db);
    await replicas(db);
  },
};

async function identity(db: Kysely<unknown>): Promise<void> {
  await addTexts(db, 'organizations', ['settings', 'recovery_public_key']);
  await addTexts(db, 'clusters', ['revoked_at', 'disconnected_at', 'own_intervals']);
  await keepOwnIntervals(db);
  await db.schema
    .alterTable('clusters')
    .addColumn('deliver_intents', 'integer', (column) => column.notNull().defaultTo(0))
    .execute();
  await db.schema
    .alterTable('clusters')
    .addColumn('require_client_certificate', 'integer', (column) => column.notNull().defaultTo(0))
    .execute();
  await addTexts(db, 'agent_credentials', ['rotated_at', 'replaces', 'origin', 'certified_at']);
  await addTexts(db, 'signing_keys', ['predecessor', 'endorsement', 'retired_at', 'revoked_at']);
  await addTexts(db, 'intents', ['recovery_values']);
  await table(db, 'deleted_clusters', 'id organization_id slug deleted_at', '')
    .addPrimaryKeyConstraint('deleted_clusters_pk', ['id'])
    .addUniqueConstraint('deleted_clusters_slug', ['organization_id', 'slug'])
    .execute();
  await table(db, 'certificate_authorities', 'id certificate private_key_sealed created_at expires_at', '')
    .addPrimaryKeyConstraint('certificate_authorities_pk', ['id'])
    .execute();
}

/** Until here a cluster had all four intervals of its own: what differs from the defaults was set on it, the rest follows. */
async function keepOwnIntervals(db: Kysely<Database>): Promise<void> {
  const defaults = { rotate_seconds: 604_800, heartbeat_seconds: 60, event_batch_ms: 1000, event_batch_size: 100 };
  const rows = await db.selectFrom('clusters').select('intervals').distinct().execute();
  for (const { intervals } of rows) {
    const own = Object.entries(JSON.parse(intervals) as Record<string, number>).filter(
      ([name, value]) => value !== defaults[name as keyof typeof defaults],
    );
    if (own.length === 0) continue;
    const ownIntervals = JSON.stringify(Object.fromEntries(own));
    await db.updateTable('clusters').set({ own_intervals: ownIntervals }).where('intervals', '=', intervals).execute();
  }
}

async function jobs(db: Kysely<unknown>): Promise<void> {
  await table(
    db,
    'jobs',
    'id cluster_id intent_id kind target_kind namespace name idempotency_key payload state created_at expires_at',
    'delivered_at acknowledged_at closed_at phase status_message status_conditions status_at outcome error applied_ref',
  )
    .addColumn('generation', 'integer', (column) => column.notNull())
    .addColumn('delivery_epoch', 'integer', (column) => column.notNull())
    .addPrimaryKeyConstraint('jobs_pk', ['id'])
    .addForeignKeyConstraint('jobs_cluster', ['cluster_id'], 'clusters', ['id'])
    .addForeignKeyConstraint('jobs_intent', ['intent_id'], 'intents', ['id'])
    .execute();
  // A poll asks for a cluster's open jobs, upkeep for what has expired, delivery for an intent's open job.
  await index(db, 'jobs', ['cluster_id', 'state']);
  await index(db, 'jobs', ['cluster_id', 'created_at']);
  await index(db, 'jobs', ['state', 'expires_at']);
  await index(db, 'jobs', ['intent_id']);
  await table(db, 'reported_generations', 'cluster_id target_kind namespace name reported_at', 'intent_id')
    .addColumn('generation', 'integer', (column) => column.notNull())
    .addColumn('delivery_epoch', 'integer', (column) => column.notNull())
    .addPrimaryKeyConstraint('reported_generations_pk', ['cluster_id', 'target_kind', 'namespace', 'name'])
    .addForeignKeyConstraint('reported_generations_cluster', ['cluster_id'], 'clusters', ['id'])
    .execute();
}

async function channel(db: Kysely<unknown>): Promise<void> {
  await table(
    db,
    'channel_messages',
    'message_key organization_id at category reason text told_by told_at',
    'cluster_id resource_ref',
  )
    .addColumn('id', 'integer', (column) => column.primaryKey().autoIncrement())
    .addColumn('event_seq', 'integer')
    .addUniqueConstraint('channel_messages_key', ['message_key'])
    .execute();
  await table(
    db,
    'channel_webhooks',
    'id organization_id name host url_sealed secret_sealed created_by created_at',
    'disabled_at disabled_reason failing_since last_error last_sent_at claimed_by claimed_until',
  )
    .addColumn('dropped', 'integer', (column) => column.notNull().defaultTo(0))
    .addPrimaryKeyConstraint('channel_webhooks_pk', ['id'])
    .addUniqueConstraint('channel_webhooks_name', ['organization_id', 'name'])
    .execute();
  await table(db, 'channel_outbox', 'webhook_id next_at', '')
    .addColumn('id', 'integer', (column) => column.primaryKey().autoIncrement())
    .addColumn('message_id', 'integer', (column) => column.notNull())
    .addColumn('attempts', 'integer', (column) => column.notNull())
    .addForeignKeyConstraint('channel_outbox_webhook', ['webhook_id'], 'channel_webhooks', ['id'])
    .execute();
  await index(db, 'channel_messages', ['organization_id', 'id']);
  await index(db, 'channel_messages', ['cluster_id', 'at']);
  await index(db, 'channel_messages', ['at']);
  await index(db, 'channel_outbox', ['webhook_id', 'id']);
  await index(db, 'channel_outbox', ['message_id']);
}

/** Heartbeats are most of what is recorded and are kept for an hour only: they alone are found by their age. */
async function heartbeats(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createIndex('events_heartbeats')
    .on('events')
    .column('received_at')
    .where(sql.ref('kind'), '=', 'ClusterHeartbeat')
    .execute();
}

/** What several processes over one database agree on, and which of them writes to what. */
async function replicas(db: Kysely<unknown>): Promise<void> {
  await table(db, 'installation', 'name value', '').addPrimaryKeyConstraint('installation_pk', ['name']).execute();
  await table(db, 'leases', 'name token holder taken_at', '').addPrimaryKeyConstraint('leases_pk', ['name']).execute();
}

async function addTexts(db: Kysely<unknown>, name: string, columns: readonly string[]): Promise<void> {
  for (const column of columns) await db.schema.alterTable(name).addColumn(column, 'text').execute();
}
