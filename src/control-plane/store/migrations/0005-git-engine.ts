import { sql, type Kysely } from 'kysely';
import type { Migration } from './migration.ts';
import { index, table } from './table.ts';

/** Repositories of other hosts, review by proposals, signed commits, and the roles of those who approve. */
export const gitEngine: Migration = {
  number: 5,
  name: 'git-engine',
  up: async (db) => {
    await addTexts(db, 'repositories', ['host', 'host_settings', 'credentials_sealed', 'credential_info', 'probe']);
    await addTexts(db, 'repositories', ['layout_move', 'layout_history']);
    await addTexts(db, 'clusters', ['trusted_revision', 'git_settings', 'accepted_removals']);
    await addTexts(db, 'admin_tokens', ['roles']);
    await proposals(db);
    await commitSigning(db);
    await tellOfProjections(db);
  },
};

async function proposals(db: Kysely<unknown>): Promise<void> {
  await table(
    db,
    'proposals',
    'id organization_id cluster_id repository_id intent_id state title branch author pins created_at updated_at',
    'base_commit head_commit merged_commit host_url host_closed_at closed_at close_reason host_checked_at branch_settled_at required_approvals',
  )
    .addColumn('revision', 'integer', (column) => column.notNull())
    .addColumn('host_number', 'integer')
    .addColumn('host_revision', 'integer')
    .addPrimaryKeyConstraint('proposals_pk', ['id'])
    .addUniqueConstraint('proposals_intent', ['intent_id'])
    .addForeignKeyConstraint('proposals_cluster', ['cluster_id'], 'clusters', ['id'])
    .addForeignKeyConstraint('proposals_intent_id', ['intent_id'], 'intents', ['id'])
    .execute();
  await index(db, 'proposals', ['organization_id', 'created_at', 'id']);
  await index(db, 'proposals', ['repository_id', 'state']);
  await index(db, 'proposals', ['cluster_id', 'state']);
  await table(db, 'proposal_reviews', 'id proposal_id kind actor roles token_hash at', 'comment dropped_at')
    .addColumn('revision', 'integer', (column) => column.notNull())
    .addPrimaryKeyConstraint('proposal_reviews_pk', ['id'])
    .addForeignKeyConstraint('proposal_reviews_proposal', ['proposal_id'], 'proposals', ['id'])
    .execute();
  await index(db, 'proposal_reviews', ['proposal_id', 'at']);
}

async function commitSigning(db: Kysely<unknown>): Promise<void> {
  await table(
    db,
    'commit_signing_keys',
    'id organization_id principal public_key created_at',
    'private_key_sealed added_by retired_at revoked_at revoked_reason',
  )
    .addPrimaryKeyConstraint('commit_signing_keys_pk', ['id'])
    .addForeignKeyConstraint('commit_signing_keys_organization', ['organization_id'], 'organizations', ['id'])
    .execute();
  await index(db, 'commit_signing_keys', ['organization_id', 'created_at']);
}

/** Clusters read from another address now. Those that hold the old one are told at their next call. */
async function tellOfProjections(db: Kysely<unknown>): Promise<void> {
  await sql`UPDATE clusters SET config_revision = config_revision + 1 WHERE connectivity_mode = 'gitops'`.execute(db);
}

async function addTexts(db: Kysely<unknown>, name: string, columns: readonly string[]): Promise<void> {
  for (const column of columns) await db.schema.alterTable(name).addColumn(column, 'text').execute();
}
