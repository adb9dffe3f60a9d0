import type { Kysely } from 'kysely';
import { gitSettingsOf } from '../git/git-settings.ts';
import type { ClusterRow, Database, ProposalRow } from '../store/schema.ts';

/** Most that are named at once. */
const MAX_NAMED = 50;

/** Proposals of a cluster that are not decided yet: a switch away from Git closes them, or does not begin. */
export async function openProposalsOf(
  db: Kysely<Database>,
  clusterId: string,
): Promise<Pick<ProposalRow, 'id' | 'title'>[]> {
  return await db
    .selectFrom('proposals')
    .select(['id', 'title'])
    .where('cluster_id', '=', clusterId)
    .where('state', 'in', ['open', 'merging'])
    .orderBy('created_at')
    .limit(MAX_NAMED)
    .execute();
}

/**
 * Accepted intents of a cluster in gitops mode that are to be proposed and are not yet, the oldest first: nobody has approved
 * them. One that was brought once (it has what it was rendered with) was reviewed then.
 */
export async function unproposedOf(
  db: Kysely<Database>,
  cluster: Pick<ClusterRow, 'id' | 'connectivity_mode' | 'git_settings'>,
): Promise<string[]> {
  if (cluster.connectivity_mode !== 'gitops' || gitSettingsOf(cluster).review !== 'proposal') return [];
  const rows = await db
    .selectFrom('intents')
    .select('id')
    .where('cluster_id', '=', cluster.id)
    .where('state', '=', 'accepted')
    .where('render_inputs', 'is', null)
    // Approved by the API, wherever the cluster is then.
    .where('awaits_approval', 'is', null)
    .where('id', 'not in', (eb) =>
      eb
        .selectFrom('proposals')
        .select('intent_id')
        .where('cluster_id', '=', cluster.id)
        // Closed by an earlier switch, whose way back kept the intent.
        .where('state', '!=', 'superseded'),
    )
    .orderBy('accepted_at')
    .orderBy('id')
    .execute();
  return rows.map(({ id }) => id);
}
