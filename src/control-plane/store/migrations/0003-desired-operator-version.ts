import type { Migration } from './migration.ts';

/** Which version an admin wants a cluster's operator to run; null asks for nothing. */
export const desiredOperatorVersion: Migration = {
  number: 3,
  name: 'desired-operator-version',
  up: async (db) => {
    await db.schema.alterTable('clusters').addColumn('desired_operator_version', 'text').execute();
  },
};
