import type { Kysely } from 'kysely';
import type { Migration } from './migration.ts';
import { index, table } from './table.ts';

/** Who may do what, what people come back to, and what lists are asked by at 10,000 clusters and 100,000 intents. */
export const people: Migration = {
  number: 8,
  name: 'people',
  up: async (db) => {
    await members(db);
    await requestAnswers(db);
    await changes(db);
    await lists(db);
  },
};

async function members(db: Kysely<unknown>): Promise<void> {
  await table(
    db,
    'members',
    'organization_id name access roles created_at updated_at',
    'display_name email oidc_issuer oidc_subject disabled_at last_seen_at',
  )
    .addPrimaryKeyConstraint('members_pk', ['organization_id', 'name'])
    .addForeignKeyConstraint('members_organization', ['organization_id'], 'organizations', ['id'])
    .execute();
  await index(db, 'members', ['oidc_issuer', 'oidc_subject']);
  await index(db, 'members', ['email']);
  for (const column of ['member', 'access', 'scopes', 'last_used_at']) {
    await db.schema.alterTable('admin_tokens').addColumn(column, 'text').execute();
  }
}

async function requestAnswers(db: Kysely<unknown>): Promise<void> {
  await table(
    db,
    'request_answers',
    'organization_id actor request_key request_hash created_at',
    'answer_sealed answered_at',
  )
    .addPrimaryKeyConstraint('request_answers_pk', ['organization_id', 'actor', 'request_key'])
    .addForeignKeyConstraint('request_answers_org', ['organization_id'], 'organizations', ['id'])
    .execute();
  await index(db, 'request_answers', ['created_at']);
}

async function changes(db: Kysely<unknown>): Promise<void> {
  await table(db, 'changes', 'organization_id at resource', 'resource_id cluster_id')
    .addColumn('seq', 'integer', (column) => column.primaryKey().autoIncrement())
    .execute();
  await index(db, 'changes', ['organization_id', 'seq']);
  await index(db, 'changes', ['at']);
}

async function lists(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable('clusters').addColumn('labels', 'text').execute();
  await table(db, 'cluster_labels', 'organization_id cluster_id name value', '')
    .addPrimaryKeyConstraint('cluster_labels_pk', ['cluster_id', 'name'])
    .addForeignKeyConstraint('cluster_labels_cluster', ['cluster_id'], 'clusters', ['id'])
    .execute();
  await index(db, 'cluster_labels', ['organization_id', 'name', 'value', 'cluster_id']);
  await table(db, 'saved_filters', 'organization_id owner name list query created_at updated_at', '')
    .addColumn('shared', 'integer', (column) => column.notNull())
    .addPrimaryKeyConstraint('saved_filters_pk', ['organization_id', 'owner', 'name'])
    .addForeignKeyConstraint('saved_filters_org', ['organization_id'], 'organizations', ['id'])
    .execute();
  await index(db, 'intents', ['organization_id', 'accepted_at', 'id']);
}
