import { PostgresAdapter, sql, type Kysely } from 'kysely';
import type { Migration } from './migration.ts';
import { applicationRows } from './application-rows.ts';
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
  for (const column of ['labels', 'reported_fault']) {
    await db.schema.alterTable('clusters').addColumn(column, 'text').execute();
  }
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
  await clusterReach(db);
  await intentColumns(db);
  // Few cancel anything: with the others in it, a database that counts its rows takes the index for a bad one.
  await db.schema.dropIndex('intents_cancels').execute();
  await db.schema
    .createIndex('intents_cancels')
    .on('intents')
    .column('cancels')
    .where(sql.ref('cancels'), 'is not', null)
    .execute();
  await index(db, 'intents', ['cluster_id', 'state', 'accepted_at', 'id']);
  for (const columns of [[], ['state'], ['requested_by'], ['target_kind'], ['namespace'], ['name']]) {
    await index(db, 'intents', ['organization_id', ...columns, 'accepted_at', 'id']);
  }
  await index(db, 'intents', ['organization_id', 'target_kind', 'name']);
  await index(db, 'receipts', ['commit_id']);
  await jobsOfOrganizations(db);
  await applicationRows(db);
}

/** See `ClusterRow.reach`; `reachOf` says the same. SQLite adds no other columns of this kind to a table that is there. */
async function clusterReach(db: Kysely<unknown>): Promise<void> {
  const reach = sql`CASE
    WHEN status = 'Pending' OR last_contact_at IS NULL THEN 'unknown'
    WHEN disabled_at IS NOT NULL OR revoked_at IS NOT NULL THEN 'unreachable'
    WHEN disconnected_at IS NOT NULL AND last_contact_at <= disconnected_at THEN 'unreachable'
    ELSE 'reached' END`;
  const isPostgres = db.getExecutor().adapter instanceof PostgresAdapter;
  await db.schema
    .alterTable('clusters')
    .addColumn('reach', 'text', (column) => {
      const generated = column.generatedAlwaysAs(reach);
      return isPostgres ? generated.stored() : generated;
    })
    .execute();
  await index(db, 'clusters', ['organization_id', 'reach', 'slug']);
}

/** Out of the records of intents, so that lists need not read those. */
async function intentColumns(db: Kysely<unknown>): Promise<void> {
  for (const column of ['chart_version', 'operation_template']) {
    await db.schema.alterTable('intents').addColumn(column, 'text').execute();
  }
  for (let after = ''; ;) {
    const { rows } = await sql<{ readonly id: string; readonly record: string }>`
      SELECT id, record FROM intents WHERE id > ${after} ORDER BY id LIMIT 500`.execute(db);
    const last = rows.at(-1);
    if (last === undefined) return;
    for (const { id, record } of rows) {
      const { chartVersion, operationTemplate } = JSON.parse(record) as Record<string, unknown>;
      const [version, template] = [chartVersion, operationTemplate].map((one) =>
        typeof one === 'string' ? one : null,
      );
      await sql`UPDATE intents SET chart_version = ${version}, operation_template = ${template} WHERE id = ${id}`.execute(
        db,
      );
    }
    after = last.id;
  }
}

async function jobsOfOrganizations(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable('jobs').addColumn('organization_id', 'text').execute();
  await sql`UPDATE jobs SET organization_id = (SELECT organization_id FROM clusters WHERE clusters.id = jobs.cluster_id)`.execute(
    db,
  );
  await index(db, 'jobs', ['organization_id', 'created_at', 'id']);
  await index(db, 'jobs', ['organization_id', 'state', 'created_at', 'id']);
}
