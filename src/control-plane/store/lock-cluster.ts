import type { Kysely } from 'kysely';
import type { ClusterRow, Database } from './schema.ts';

/**
 * The cluster's row, which nobody else changes until this transaction ends: of two that decide about a cluster's
 * credentials or keys at once, the second sees what the first did. By an update, which every database understands.
 */
export async function lockCluster(trx: Kysely<Database>, id: string): Promise<ClusterRow | undefined> {
  return await trx
    .updateTable('clusters')
    .set((eb) => ({ config_revision: eb.ref('config_revision') }))
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirst();
}
