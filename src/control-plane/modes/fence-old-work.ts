import type { Kysely } from 'kysely';
import { gitSettingsOf } from '../git/git-settings.ts';
import { reopenDelivered } from '../proposals/reopen-delivered.ts';
import { happen } from '../proposals/take-receipt.ts';
import { UNDECIDED } from '../store/proposals.ts';
import type { ClusterRow, Database, ProposalRow } from '../store/schema.ts';

/** Stands before the words of why an intent that waited for a review ended with its cluster's stay in gitops mode. */
export const MODE_SWITCHED = 'ModeSwitched';

/** What was ended of the way that a cluster leaves. */
export interface FencedWork {
  readonly jobs: number;
  readonly proposals: number;
}

/**
 * Ends what of the old way nobody has taken yet: jobs of epochs below `epoch` that were not acknowledged, and what waits
 * for a review in Git where the cluster leaves it. What was approved already goes by the new way. In the transaction of the
 * fence, which holds the cluster's row and has given it its new mode.
 *
 * @param cluster as it was before the fence
 */
export async function fenceOldWork(
  trx: Kysely<Database>,
  cluster: ClusterRow,
  epoch: number,
  at: string,
): Promise<FencedWork> {
  const jobs = await closeJobs(trx, cluster.id, epoch, at, ['pending', 'delivered']);
  const { connectivity_mode: mode } = await trx
    .selectFrom('clusters')
    .select('connectivity_mode')
    .where('id', '=', cluster.id)
    .executeTakeFirstOrThrow();
  if (mode === 'gitops') await reopenDelivered(trx, cluster.id, at);
  if (mode === 'gitops' || cluster.connectivity_mode !== 'gitops') return { jobs, proposals: 0 };
  const why = `the cluster was moved to ${mode} mode, where nothing is reviewed in Git; ask again for what you want`;
  const proposals = await closeProposals(trx, cluster.id, why, at);
  if (gitSettingsOf(cluster).review === 'proposal') await endUnproposed(trx, cluster.id, why);
  return { jobs, proposals };
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

/** @returns how many were closed */
async function closeProposals(trx: Kysely<Database>, clusterId: string, why: string, at: string): Promise<number> {
  const open = await trx
    .selectFrom('proposals')
    .selectAll()
    .where('cluster_id', '=', clusterId)
    .where('state', 'in', UNDECIDED)
    .execute();
  for (const proposal of open) await closeProposal(trx, proposal, why, at);
  return open.length;
}

/** Its branch is deleted and its request closed by those who do that for every proposal that is superseded. */
async function closeProposal(trx: Kysely<Database>, proposal: ProposalRow, why: string, at: string): Promise<void> {
  const isApproved = proposal.state === 'merging';
  const detail = isApproved ? `${MODE_SWITCHED}: it was approved, and its intent goes by the new way` : why;
  const cause = { news: 'ProposalSuperseded', detail } as const;
  await happen(trx, proposal, { kind: 'overtaken', isDelivered: true }, new Date(at), cause);
  await trx
    .updateTable('intents')
    .set(isApproved ? { state: 'accepted', reason: null } : { reason: `${MODE_SWITCHED}: ${why}` })
    .where('id', '=', proposal.intent_id)
    .where('state', '=', 'superseded')
    .execute();
}

/** Those that were to be proposed. One that was brought once (it has what it was rendered with) was reviewed then. */
async function endUnproposed(trx: Kysely<Database>, clusterId: string, why: string): Promise<void> {
  await trx
    .updateTable('intents')
    .set({ state: 'superseded', reason: `${MODE_SWITCHED}: ${why}` })
    .where('cluster_id', '=', clusterId)
    .where('state', '=', 'accepted')
    .where('render_inputs', 'is', null)
    .where('id', 'not in', (eb) => eb.selectFrom('proposals').select('intent_id').where('cluster_id', '=', clusterId))
    .execute();
}
