import type { Kysely } from 'kysely';
import { dropApprovals } from '../store/proposals.ts';
import { noteRows, OF_CHANGED } from '../store/changes.ts';
import type { Database } from '../store/schema.ts';

/**
 * The cluster comes back to gitops mode: accepted intents whose proposals ended when it left, approved or merged, are
 * proposed anew, as the next revision. Else nobody would ever bring them: what is closed is not proposed again.
 */
export async function reopenDelivered(trx: Kysely<Database>, clusterId: string, at: string): Promise<void> {
  const ended = await trx
    .selectFrom('proposals')
    .innerJoin('intents', 'intents.id', 'proposals.intent_id')
    .select('proposals.id')
    .where('proposals.cluster_id', '=', clusterId)
    .where('proposals.state', 'in', ['merged', 'superseded'])
    .where('intents.state', '=', 'accepted')
    .execute();
  for (const { id } of ended) {
    await dropApprovals(trx, id, at);
    const reopened = await trx
      .updateTable('proposals')
      .set((eb) => ({
        state: 'open' as const,
        revision: eb('revision', '+', 1),
        pins: '[]',
        updated_at: at,
        closed_at: null,
        close_reason: null,
        merged_commit: null,
        branch_settled_at: null,
        // Its request was closed: it gets another one.
        host_number: null,
        host_url: null,
        host_revision: null,
        host_checked_at: null,
        host_closed_at: null,
      }))
      .where('id', '=', id)
      .returning(OF_CHANGED)
      .execute();
    noteRows(trx, 'proposals', reopened);
  }
}
