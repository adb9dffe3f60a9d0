import type { Kysely } from 'kysely';
import type { AgentEvent } from '../../protocol/event.ts';
import { CLUSTER_KIND } from '../../resources/cluster.ts';
import type { ClusterRow, Database } from '../store/schema.ts';

/**
 * Remembers the highest epoch that a cluster's operator has reported of the cluster itself: it says that no write of the
 * operator of an older one is in flight or will start. None above the cluster's own counts, which nobody has given yet.
 *
 * @param cluster as it stands in this transaction
 * @returns whether it has grown
 */
export async function noteReportedEpoch(
  trx: Kysely<Database>,
  cluster: Pick<ClusterRow, 'id' | 'delivery_epoch' | 'reported_epoch'>,
  events: readonly AgentEvent[],
): Promise<boolean> {
  let highest = cluster.reported_epoch ?? 0;
  for (const { resourceRef, source } of events) {
    const epoch = source?.epoch ?? 0;
    if (resourceRef.kind === CLUSTER_KIND && epoch > highest && epoch <= cluster.delivery_epoch) highest = epoch;
  }
  if (highest === (cluster.reported_epoch ?? 0)) return false;
  await trx
    .updateTable('clusters')
    .set({ reported_epoch: highest })
    .where('id', '=', cluster.id)
    .where((eb) => eb.or([eb('reported_epoch', 'is', null), eb('reported_epoch', '<', highest)]))
    .execute();
  return true;
}
