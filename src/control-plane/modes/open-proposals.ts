import type { Kysely } from 'kysely';
import type { Database, ProposalRow } from '../store/schema.ts';

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
