import { sql, type Kysely } from 'kysely';
import type { Migration } from './migration.ts';
import { index, table } from './table.ts';

/** Admin-made operation templates, approvals, and what the catalog knows of the versions of its charts. */
export const operations: Migration = {
  number: 7,
  name: 'operations',
  up: async (db) => {
    await db.schema.alterTable('intents').addColumn('awaits_approval', 'integer').execute();
    await db.schema.alterTable('intents').addColumn('cancels', 'text').execute();
    await index(db, 'intents', ['cancels']);
    await db.schema.alterTable('clusters').addColumn('approval_namespaces', 'text').execute();
    for (const column of ['deprecation', 'credential_sealed', 'credential_info']) {
      await db.schema.alterTable('catalog_entries').addColumn(column, 'text').execute();
    }
    // What is told of an application, so that the same is not told twice in a row.
    await db.schema.alterTable('channel_messages').addColumn('object_key', 'text').execute();
    await db.schema.alterTable('channel_messages').addColumn('standing', 'text').execute();
    await index(db, 'channel_messages', ['cluster_id', 'object_key', 'id']);
    // Of what a report in the audit is: without it an operation's own entries do not say which operation they are of.
    await db.schema.alterTable('audit').addColumn('resource_ref', 'text').execute();
    await db.schema.alterTable('audit').addColumn('intent_id', 'text').execute();
    await sql`UPDATE audit SET resource_ref = (SELECT resource_ref FROM events WHERE events.seq = audit.event_seq)
      WHERE event_seq IS NOT NULL`.execute(db);
    await catalogEntriesOfIntents(db);
    await operationTemplates(db);
    await approvals(db);
    await chartVersions(db);
  },
};

/** Which entry an intent is of, out of its record: upgrades and what still uses an entry are asked by it. */
async function catalogEntriesOfIntents(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable('intents').addColumn('catalog_entry', 'text').execute();
  for (let after = ''; ;) {
    const { rows } = await sql<{ readonly id: string; readonly record: string }>`
      SELECT id, record FROM intents WHERE id > ${after} AND action <> 'operate' ORDER BY id LIMIT 500`.execute(db);
    const last = rows.at(-1);
    if (last === undefined) break;
    const entryOf = (record: string): unknown => (JSON.parse(record) as Record<string, unknown>)['catalogEntry'];
    for (const [entry, of] of Map.groupBy(rows, ({ record }) => entryOf(record))) {
      if (typeof entry !== 'string') continue;
      const ids = sql.join(of.map(({ id }) => id));
      await sql`UPDATE intents SET catalog_entry = ${entry} WHERE id IN (${ids})`.execute(db);
    }
    after = last.id;
  }
  await index(db, 'intents', ['organization_id', 'catalog_entry']);
}

async function operationTemplates(db: Kysely<unknown>): Promise<void> {
  await table(db, 'operation_templates', 'organization_id name definition updated_at', 'approval')
    .addPrimaryKeyConstraint('operation_templates_pk', ['organization_id', 'name'])
    .addForeignKeyConstraint('operation_templates_org', ['organization_id'], 'organizations', ['id'])
    .execute();
}

async function approvals(db: Kysely<unknown>): Promise<void> {
  await table(
    db,
    'approvals',
    'id organization_id cluster_id intent_id state required spec_hash requested_by requested_at expires_at',
    'requested_with via proposal_id approved_by statement statement_kid jti statement_expires_at decided_at reason',
  )
    .addPrimaryKeyConstraint('approvals_pk', ['id'])
    .addUniqueConstraint('approvals_intent', ['intent_id'])
    .addForeignKeyConstraint('approvals_for', ['intent_id'], 'intents', ['id'])
    .execute();
  await index(db, 'approvals', ['organization_id', 'requested_at', 'id']);
  await index(db, 'approvals', ['cluster_id', 'state']);
  await index(db, 'approvals', ['state', 'expires_at']);
  await index(db, 'approvals', ['state', 'statement_expires_at']);
  await table(db, 'approval_reviews', 'id approval_id kind actor roles token_hash at', 'comment')
    .addPrimaryKeyConstraint('approval_reviews_pk', ['id'])
    .addForeignKeyConstraint('approval_reviews_of', ['approval_id'], 'approvals', ['id'])
    .execute();
  await index(db, 'approval_reviews', ['approval_id', 'at']);
}

async function chartVersions(db: Kysely<unknown>): Promise<void> {
  await table(
    db,
    'chart_versions',
    'organization_id entry source versions',
    'newest_allowed etag fetched_at checked_at next_check_at fault',
  )
    .addPrimaryKeyConstraint('chart_versions_pk', ['organization_id', 'entry'])
    .addForeignKeyConstraint('chart_versions_org', ['organization_id'], 'organizations', ['id'])
    .execute();
  await index(db, 'chart_versions', ['next_check_at']);
}
