import type { Kysely } from 'kysely';
import type { Migration } from './migration.ts';
import { index, table } from './table.ts';

/** Every table of `schema.ts` as this release knows it. */
export const initialTables: Migration = {
  number: 1,
  name: 'initial-tables',
  up: async (db) => {
    await identity(db);
    await gitAndCatalog(db);
    await intents(db);
    await reports(db);
  },
};

async function identity(db: Kysely<unknown>): Promise<void> {
  await table(db, 'organizations', 'id name created_at', '')
    .addPrimaryKeyConstraint('organizations_pk', ['id'])
    .addUniqueConstraint('organizations_name', ['name'])
    .execute();
  await table(db, 'admin_tokens', 'token_hash organization_id name created_at', 'expires_at')
    .addPrimaryKeyConstraint('admin_tokens_pk', ['token_hash'])
    .addForeignKeyConstraint('admin_tokens_organization', ['organization_id'], 'organizations', ['id'])
    .execute();
  await table(
    db,
    'clusters',
    'id organization_id slug display_name status connectivity_mode allowed_namespaces allowed_catalog_entries allowed_operation_templates security intervals created_at',
    'disabled_at cluster_uid public_key repository_id git_directory desired_revision applied_revision operator_version last_contact_at registered_at',
  )
    .addColumn('delivery_epoch', 'integer', (column) => column.notNull())
    .addColumn('config_revision', 'integer', (column) => column.notNull())
    .addPrimaryKeyConstraint('clusters_pk', ['id'])
    .addUniqueConstraint('clusters_slug', ['organization_id', 'slug'])
    .addForeignKeyConstraint('clusters_organization', ['organization_id'], 'organizations', ['id'])
    .execute();
  await table(db, 'registration_tokens', 'token_hash cluster_id created_by created_at expires_at', 'used_at')
    .addPrimaryKeyConstraint('registration_tokens_pk', ['token_hash'])
    .addForeignKeyConstraint('registration_tokens_cluster', ['cluster_id'], 'clusters', ['id'])
    .execute();
  await table(
    db,
    'agent_credentials',
    'id cluster_id token_hash issued_at rotate_after expires_at',
    'first_used_at revoked_at',
  )
    .addPrimaryKeyConstraint('agent_credentials_pk', ['id'])
    .addUniqueConstraint('agent_credentials_token', ['token_hash'])
    .addForeignKeyConstraint('agent_credentials_cluster', ['cluster_id'], 'clusters', ['id'])
    .execute();
  await table(db, 'signing_keys', 'kid cluster_id private_key_sealed public_jwk created_at', '')
    .addPrimaryKeyConstraint('signing_keys_pk', ['kid'])
    .addForeignKeyConstraint('signing_keys_cluster', ['cluster_id'], 'clusters', ['id'])
    .execute();
  await index(db, 'registration_tokens', ['cluster_id']);
  await index(db, 'agent_credentials', ['cluster_id']);
  await index(db, 'signing_keys', ['cluster_id']);
}

async function gitAndCatalog(db: Kysely<unknown>): Promise<void> {
  await table(
    db,
    'catalog_entries',
    'organization_id name chart versions updated_at',
    'default_values values_schema approval',
  )
    .addPrimaryKeyConstraint('catalog_entries_pk', ['organization_id', 'name'])
    .addForeignKeyConstraint('catalog_entries_organization', ['organization_id'], 'organizations', ['id'])
    .execute();
  await table(db, 'repositories', 'id organization_id name url branch layout created_at', '')
    .addColumn('embedded', 'integer', (column) => column.notNull())
    .addPrimaryKeyConstraint('repositories_pk', ['id'])
    .addUniqueConstraint('repositories_name', ['name'])
    .addForeignKeyConstraint('repositories_organization', ['organization_id'], 'organizations', ['id'])
    .execute();
  await table(
    db,
    'git_credentials',
    'id token_hash repository_id access created_at expires_at',
    'cluster_id scope token_sealed revoked_at',
  )
    .addPrimaryKeyConstraint('git_credentials_pk', ['id'])
    .addUniqueConstraint('git_credentials_token', ['token_hash'])
    .addForeignKeyConstraint('git_credentials_repository', ['repository_id'], 'repositories', ['id'])
    .execute();
  await index(db, 'git_credentials', ['cluster_id']);
  await index(db, 'clusters', ['repository_id']);
}

async function intents(db: Kysely<unknown>): Promise<void> {
  await table(
    db,
    'intents',
    'id organization_id cluster_id target_kind namespace name action record idempotency_key state requested_by accepted_at',
    'reason delivered_at applied_at ready_at',
  )
    .addColumn('generation', 'integer', (column) => column.notNull())
    .addPrimaryKeyConstraint('intents_pk', ['id'])
    .addUniqueConstraint('intents_generation', ['cluster_id', 'target_kind', 'namespace', 'name', 'generation'])
    .addForeignKeyConstraint('intents_cluster', ['cluster_id'], 'clusters', ['id'])
    .execute();
  await table(db, 'receipts', 'intent_id mode at', 'commit_id job_id field_manager')
    .addPrimaryKeyConstraint('receipts_pk', ['intent_id'])
    .addForeignKeyConstraint('receipts_intent', ['intent_id'], 'intents', ['id'])
    .execute();
  // The delivery loop asks for `accepted` intents; the API lists a cluster's newest first.
  await index(db, 'intents', ['state', 'cluster_id']);
  await index(db, 'intents', ['cluster_id', 'accepted_at']);
}

async function reports(db: Kysely<unknown>): Promise<void> {
  await table(
    db,
    'events',
    'cluster_id event_key fingerprint kind resource_ref conditions received_at',
    'timestamp sequence source',
  )
    .addColumn('seq', 'integer', (column) => column.primaryKey().autoIncrement())
    .addUniqueConstraint('events_identity', ['cluster_id', 'event_key', 'fingerprint'])
    .addForeignKeyConstraint('events_cluster', ['cluster_id'], 'clusters', ['id'])
    .execute();
  await table(
    db,
    'resource_conditions',
    'cluster_id uid type api_version kind namespace name status order_key updated_at',
    'reason message last_transition_time source',
  )
    .addColumn('generation', 'integer')
    .addPrimaryKeyConstraint('resource_conditions_pk', ['cluster_id', 'uid', 'type'])
    .addForeignKeyConstraint('resource_conditions_cluster', ['cluster_id'], 'clusters', ['id'])
    .execute();
  // No key to clusters or events: an audit entry outlives what it is about.
  await table(db, 'audit', 'organization_id at source kind summary', 'cluster_id actor reason')
    .addColumn('id', 'integer', (column) => column.primaryKey().autoIncrement())
    .addColumn('event_seq', 'integer')
    .execute();
  await index(db, 'events', ['cluster_id', 'seq']);
  await index(db, 'resource_conditions', ['cluster_id', 'kind', 'namespace', 'name']);
  await index(db, 'audit', ['organization_id', 'id']);
  await index(db, 'audit', ['cluster_id', 'id']);
}
