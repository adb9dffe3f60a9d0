import type { Kysely } from 'kysely';
import type { Migration } from './migration.ts';
import { index, table } from './table.ts';

/** Push mode's credentials, and switches of a cluster between modes. */
export const modes: Migration = {
  number: 6,
  name: 'modes',
  up: async (db) => {
    await db.schema
      .alterTable('clusters')
      .addColumn('delivery_held', 'integer', (column) => column.notNull().defaultTo(0))
      .execute();
    await db.schema.alterTable('clusters').addColumn('reported_epoch', 'integer').execute();
    // JSON `RenderInputs` that it was first delivered with: delivered once more, it is the same.
    await db.schema.alterTable('intents').addColumn('render_inputs', 'text').execute();
    await pushCredentials(db);
    await modeSwitches(db);
    await modeHandovers(db);
  },
};

async function pushCredentials(db: Kysely<unknown>): Promise<void> {
  await table(
    db,
    'push_credentials',
    'id cluster_id state server info created_by created_at',
    'credential_sealed expires_at renew_at renewed_at renewal_fault probe reach revoked_at revoked_reason',
  )
    .addPrimaryKeyConstraint('push_credentials_pk', ['id'])
    .addForeignKeyConstraint('push_credentials_cluster', ['cluster_id'], 'clusters', ['id'])
    .execute();
  await index(db, 'push_credentials', ['cluster_id', 'created_at']);
  await index(db, 'push_credentials', ['state', 'renew_at']);
}

async function modeSwitches(db: Kysely<unknown>): Promise<void> {
  await table(
    db,
    'mode_switches',
    'id organization_id cluster_id from_mode to_mode state phase phase_since options requested_by requested_at steps',
    'open_for before push_credential_id probes credentials objects_left reason cancelled_by finished_at',
  )
    .addColumn('epoch', 'integer')
    .addPrimaryKeyConstraint('mode_switches_pk', ['id'])
    // Null once it is over: one at a time for each cluster.
    .addUniqueConstraint('mode_switches_open', ['open_for'])
    .addForeignKeyConstraint('mode_switches_cluster', ['cluster_id'], 'clusters', ['id'])
    .execute();
  await index(db, 'mode_switches', ['cluster_id', 'requested_at', 'id']);
}

async function modeHandovers(db: Kysely<unknown>): Promise<void> {
  await table(
    db,
    'mode_handovers',
    'switch_id cluster_id intent_id target_kind namespace name action state',
    'reason receipt delivered_at confirmed_at',
  )
    .addColumn('epoch', 'integer', (column) => column.notNull())
    .addColumn('generation', 'integer', (column) => column.notNull())
    .addPrimaryKeyConstraint('mode_handovers_pk', ['switch_id', 'epoch', 'intent_id'])
    .addForeignKeyConstraint('mode_handovers_switch', ['switch_id'], 'mode_switches', ['id'])
    .execute();
  await index(db, 'mode_handovers', ['state', 'cluster_id']);
  await index(db, 'mode_handovers', ['cluster_id', 'epoch', 'state']);
  await index(db, 'mode_handovers', ['intent_id']);
}
