import type { Kysely } from 'kysely';
import { approveByMerge } from '../approvals/approve-by-merge.ts';
import { reopenDelivered } from '../proposals/reopen-delivered.ts';
import { happen } from '../proposals/take-receipt.ts';
import { UNDECIDED } from '../store/proposals.ts';
import type { ClusterRow, Database, ProposalRow } from '../store/schema.ts';
import { noteIntents, noteJobs, OF_CHANGED_INTENT, OF_CHANGED_JOB } from '../store/changes.ts';
import { unproposedOf } from './open-proposals.ts';

/** Stands before the words of why an intent that waited for a review ended with its cluster's stay in gitops mode. */
export const MODE_SWITCHED = 'ModeSwitched';

/** What was ended of the way that a cluster leaves. */
export interface FencedWork {
  readonly jobs: number;
  readonly proposals: number;
}

/**
 * Ends what of the old way nobody has taken yet: jobs of epochs below `epoch` that were not acknowledged, and what waits
 * for a review in Git where the cluster leaves it. What was approved already goes by the new way. On the way back no intent
 * ends: the mode that is gone back to asked for no review when they were accepted, or does the review itself. In the
 * transaction of the fence, which holds the cluster's row and has given it its new mode.
 *
 * @param cluster as it was before the fence
 */
export async function fenceOldWork(
  trx: Kysely<Database>,
  cluster: ClusterRow,
  epoch: number,
  { at, isBack }: { readonly at: string; readonly isBack: boolean },
): Promise<FencedWork> {
  const jobs = await closeJobs(trx, cluster.id, epoch, at, ['pending', 'delivered']);
  const { connectivity_mode: mode } = await trx
    .selectFrom('clusters')
    .select('connectivity_mode')
    .where('id', '=', cluster.id)
    .executeTakeFirstOrThrow();
  if (mode === 'gitops') await reopenDelivered(trx, cluster.id, at);
  if (mode === 'gitops' || cluster.connectivity_mode !== 'gitops') return { jobs, proposals: 0 };
  if (isBack) {
    const kept = `the cluster went back to ${mode} mode, where nothing is reviewed in Git; its intent goes by that way`;
    return { jobs, proposals: await closeProposals(trx, cluster.id, { why: kept, keepsIntents: true }, at) };
  }
  const why = `the cluster was moved to ${mode} mode, where nothing is reviewed in Git; ask again for what you want`;
  const unproposed = await unproposedOf(trx, cluster);
  const proposals = await closeProposals(trx, cluster.id, { why, keepsIntents: false }, at);
  await endUnproposed(trx, unproposed, why);
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
  const closed = await trx
    .updateTable('jobs')
    .set({ state: 'closed', closed_at: at, outcome: 'noop', error })
    .where('cluster_id', '=', clusterId)
    .where('delivery_epoch', '<', epoch)
    .where('state', 'in', states)
    .returning(OF_CHANGED_JOB)
    .execute();
  noteJobs(trx, closed);
  return closed.length;
}

interface Closing {
  readonly why: string;
  /** They wait for their delivery again. Those that were approved do in any case. */
  readonly keepsIntents: boolean;
}

/** @returns how many were closed */
async function closeProposals(trx: Kysely<Database>, clusterId: string, closing: Closing, at: string): Promise<number> {
  const open = await trx
    .selectFrom('proposals')
    .selectAll()
    .where('cluster_id', '=', clusterId)
    .where('state', 'in', UNDECIDED)
    .execute();
  for (const proposal of open) await closeProposal(trx, proposal, closing, at);
  return open.length;
}

/** Its branch is deleted and its request closed by those who do that for every proposal that is superseded. */
async function closeProposal(
  trx: Kysely<Database>,
  proposal: ProposalRow,
  { why, keepsIntents }: Closing,
  at: string,
): Promise<void> {
  const isApproved = proposal.state === 'merging';
  const detail = isApproved ? `${MODE_SWITCHED}: it was approved, and its intent goes by the new way` : why;
  const cause = { news: 'ProposalSuperseded', detail } as const;
  if (isApproved) await approveByMerge(trx, proposal.intent_id, new Date(at));
  await happen(trx, proposal, { kind: 'overtaken', isDelivered: true }, new Date(at), cause);
  const released = await trx
    .updateTable('intents')
    .set(isApproved || keepsIntents ? { state: 'accepted', reason: null } : { reason: `${MODE_SWITCHED}: ${why}` })
    .where('id', '=', proposal.intent_id)
    .where('state', '=', 'superseded')
    .returning(OF_CHANGED_INTENT)
    .execute();
  noteIntents(trx, released);
}

async function endUnproposed(trx: Kysely<Database>, ids: readonly string[], why: string): Promise<void> {
  for (const id of ids) {
    const ended = await trx
      .updateTable('intents')
      .set({ state: 'superseded', reason: `${MODE_SWITCHED}: ${why}` })
      .where('id', '=', id)
      .where('state', '=', 'accepted')
      .returning(OF_CHANGED_INTENT)
      .execute();
    noteIntents(trx, ended);
  }
}
