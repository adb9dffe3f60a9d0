import type { Kysely } from 'kysely';
import type { ClusterRow, Database } from '../store/schema.ts';

/** What was ended of the way that a cluster leaves. */
export interface FencedWork {
  readonly jobs: number;
  readonly proposals: number;
}

/**
 * Ends what of the old way nobody has taken yet: jobs of epochs below `epoch` that were not acknowledged. In the transaction
 * of the fence, which holds the cluster's row.
 *
 * @param cluster as it was before the fence
 */
export async function fenceOldWork(
  trx: Kysely<Database>,
  cluster: ClusterRow,
  epoch: number,
  at: string,
): Promise<FencedWork> {
  return { jobs: await closeJobs(trx, cluster.id, epoch, at, ['pending', 'delivered']), proposals: 0 };
}

/** Ends what the operator took by the old way and did not end in time: it is delivered by the new way. */
export async function endOldWork(
  trx: Kysely<Database>,
  cluster: Pick<ClusterRow, 'id'>,
  epoch: number,
  at: string,
): Promise<number> {
  return await closeJobs(trx, cluster.id, epoch, at, ['pending', 'delivered', 'acknowledged']);
}

async function closeJobs(
  trx: Kysely<Database>,
  clusterId: string,
  epoch: number,
  at: string,
  states: readonly ('pending' | 'delivered' | 'acknowledged')[],
): Promise<number> {
  const error = `superseded: the delivery epoch was raised to ${epoch}`;
  const result = await trx
    .updateTable('jobs')
    .set({ state: 'closed', closed_at: at, outcome: 'noop', error })
    .where('cluster_id', '=', clusterId)
    .where('delivery_epoch', '<', epoch)
    .where('state', 'in', states)
    .executeTakeFirst();
  return Number(result.numUpdatedRows);
}
