import type { Kysely } from 'kysely';
import { Reason } from '../../resources/reasons.ts';
import { appendAudit } from './audit.ts';
import type { ClusterRow, Database } from './schema.ts';

/** What watching a cluster's connection takes. */
export type WatchedCluster = Pick<
  ClusterRow,
  'id' | 'organization_id' | 'intervals' | 'last_contact_at' | 'disconnected_at'
>;

const WATCHED = ['id', 'organization_id', 'intervals', 'last_contact_at', 'disconnected_at'] as const;

/** Clusters that are noted as disconnected: they may have called since. */
export async function clustersHeardAgain(db: Kysely<Database>): Promise<WatchedCluster[]> {
  return await db.selectFrom('clusters').select(WATCHED).where('disconnected_at', 'is not', null).execute();
}

/**
 * Registered clusters without a stored contact since then that are not noted yet. A disabled cluster is left out: it is
 * turned away, so its silence says nothing.
 */
export async function clustersSilentSince(db: Kysely<Database>, since: Date): Promise<WatchedCluster[]> {
  return await db
    .selectFrom('clusters')
    .select(WATCHED)
    .where('disconnected_at', 'is', null)
    .where('disabled_at', 'is', null)
    .where('registered_at', 'is not', null)
    .where('last_contact_at', '<', since.toISOString())
    .execute();
}

/**
 * Notes a change with its audit entry, unless somebody else did already. It is the high-signal pair of the Cluster's
 * conditions (specification, "Durable-entry rule"), observed from here.
 */
export async function noteConnection(
  trx: Kysely<Database>,
  cluster: WatchedCluster,
  change: { readonly state: 'connected' | 'disconnected'; readonly contactAt: string; readonly at: string },
): Promise<void> {
  const { state, contactAt, at } = change;
  const result = await trx
    .updateTable('clusters')
    .set({ disconnected_at: state === 'disconnected' ? at : null })
    .where('id', '=', cluster.id)
    .where('disconnected_at', 'is not distinct from', cluster.disconnected_at)
    .executeTakeFirst();
  if (result.numUpdatedRows === 0n) return;
  const [type, reason] =
    state === 'disconnected' ? ['Disconnected', Reason.NoContact] : ['Connected', Reason.WithinHeartbeat];
  await appendAudit(trx, {
    organizationId: cluster.organization_id,
    clusterId: cluster.id,
    at,
    source: 'agent',
    kind: 'ConditionTransition',
    summary: `${type} (${reason}): last contact at ${contactAt}, as the control plane sees it`,
    reason,
  });
}
