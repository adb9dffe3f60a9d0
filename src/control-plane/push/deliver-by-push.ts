import type { Kysely } from 'kysely';
import { PushDelivery, type PushApi } from '../../delivery/push/push-delivery.ts';
import { PushSlots } from '../../delivery/push/push-slots.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Store } from '../store/open-store.ts';
import type { ClusterRow, Database } from '../store/schema.ts';
import { isOther } from './store-reach.ts';

/** What writes to the API servers of clusters by connections that somebody else owns; all share the fleet's places. */
export function deliverByPush(deps: {
  readonly store: Pick<Store, 'db'>;
  readonly clock: Clock;
}): (api: PushApi, cluster: Pick<ClusterRow, 'id'>) => PushDelivery {
  const slots = new PushSlots(deps);
  const mayWrite = async (clusterId: string, epoch: number): Promise<boolean> =>
    await mayPush(deps.store.db, clusterId, epoch);
  return (api, { id: clusterId }) => new PushDelivery({ clusterId, api, mayWrite, slots });
}

/**
 * Whether a cluster is written to in push mode, now and under this delivery epoch. Asked before every write: a switch of mode
 * raises the epoch in one transaction, and from its commit on nothing of the old way leaves. Nor does anything once the
 * cluster is disabled, its credentials are revoked, or a probe at any replica has found another cluster's API server.
 */
export async function mayPush(db: Kysely<Database>, clusterId: string, epoch: number): Promise<boolean> {
  const row = await db
    .selectFrom('clusters')
    .innerJoin('push_credentials', 'push_credentials.cluster_id', 'clusters.id')
    .select('push_credentials.reach')
    .where('clusters.id', '=', clusterId)
    .where('clusters.connectivity_mode', '=', 'push')
    .where('clusters.delivery_epoch', '=', epoch)
    .where('clusters.delivery_held', '=', 0)
    .where('clusters.disabled_at', 'is', null)
    .where('clusters.revoked_at', 'is', null)
    .where('push_credentials.state', '=', 'current')
    .executeTakeFirst();
  return row !== undefined && !isOther(row);
}
