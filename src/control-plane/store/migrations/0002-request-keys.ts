import type { Migration } from './migration.ts';

/** What an `Idempotency-Key` header was first used for. */
export const requestKeys: Migration = {
  number: 2,
  name: 'request-keys',
  up: async (db) => {
    await db.schema
      .createTable('request_keys')
      .addColumn('cluster_id', 'text', (column) => column.notNull().references('clusters.id'))
      .addColumn('request_key', 'text', (column) => column.notNull())
      .addColumn('request_hash', 'text', (column) => column.notNull())
      .addColumn('intent_id', 'text', (column) => column.notNull().references('intents.id'))
      .addColumn('created_at', 'text', (column) => column.notNull())
      .addPrimaryKeyConstraint('request_keys_pk', ['cluster_id', 'request_key'])
      .execute();
    await db.schema.createIndex('request_keys_created_at').on('request_keys').columns(['created_at']).execute();
  },
};
