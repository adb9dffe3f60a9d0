import type { Kysely } from 'kysely';
import { PushDelivery, type PushApi } from '../../delivery/push/push-delivery.ts';
import { PushSlots } from '../../delivery/push/push-slots.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Store } from '../store/open-store.ts';
import type { ClusterRow, Database } from '../store/schema.ts';

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
 * raises the epoch in one transaction, and from its commit on nothing of the old way leaves.
 */
export async function mayPush(db: Kysely<Database>, clusterId: string, epoch: number): Promise<boolean> {
  const row = await db
    .selectFrom('clusters')
    .select('id')
    .where('id', '=', clusterId)
    .where('connectivity_mode', '=', 'push')
    .where('delivery_epoch', '=', epoch)
    .where('delivery_held', '=', 0)
    .executeTakeFirst();
  return row !== undefined;
}
