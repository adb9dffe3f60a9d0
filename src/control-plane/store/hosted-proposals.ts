import type { Kysely } from 'kysely';
import { UNDECIDED } from './proposals.ts';
import type { ClusterRow, Database, IntentRow, ProposalRow, RepositoryRow } from './schema.ts';

/** Hosts with pull or merge requests. */
const REQUEST_HOSTS: readonly RepositoryRow['host'][] = ['github', 'gitlab', 'gitea'];

/** How long a request of a closed proposal is still looked after: closed there, and closed again when it is reopened. */
const LOOKED_AFTER_MS = 30 * 24 * 60 * 60 * 1000;
/**
 * How long a repository is followed for a proposal that was closed: until its branch is gone somebody can reopen its request
 * and merge it.
 */
const FOLLOWED_AFTER_MS = 15 * 60 * 1000;
/** Proposals of one turn. What is beyond comes when these are done. */
const MAX_ROWS = 5000;

/** A proposal with what its request says of it and what a receipt for it needs. */
export type HostedRow = ProposalRow &
  Pick<IntentRow, 'record' | 'target_kind' | 'namespace' | 'name' | 'generation' | 'requested_by'> &
  Pick<ClusterRow, 'slug' | 'delivery_epoch' | 'desired_revision'>;

/**
 * Proposals in repositories of hosts that have requests: those of which something may still become, and closed ones whose
 * request is to be closed, or to be looked at, or was closed a moment ago.
 */
export async function hostedProposals(db: Kysely<Database>, now: Date): Promise<HostedRow[]> {
  const since = new Date(now.getTime() - LOOKED_AFTER_MS).toISOString();
  const aMomentAgo = new Date(now.getTime() - FOLLOWED_AFTER_MS).toISOString();
  return await db
    .selectFrom('proposals')
    .innerJoin('repositories', 'repositories.id', 'proposals.repository_id')
    .innerJoin('intents', 'intents.id', 'proposals.intent_id')
    .innerJoin('clusters', 'clusters.id', 'proposals.cluster_id')
    .selectAll('proposals')
    .select(['intents.record', 'intents.target_kind', 'intents.namespace', 'intents.name', 'intents.generation'])
    .select(['intents.requested_by', 'clusters.slug', 'clusters.delivery_epoch', 'clusters.desired_revision'])
    .where('repositories.host', 'in', REQUEST_HOSTS)
    .where((eb) =>
      eb.or([
        eb('proposals.state', 'in', UNDECIDED),
        eb.and([
          eb('proposals.host_number', 'is not', null),
          eb('proposals.closed_at', '>', since),
          eb.or([eb('proposals.host_closed_at', 'is', null), eb('proposals.host_checked_at', 'is', null)]),
        ]),
        eb.and([
          eb('proposals.state', '!=', 'merged'),
          eb('proposals.host_number', 'is not', null),
          eb('proposals.host_closed_at', '>', aMomentAgo),
        ]),
      ]),
    )
    .orderBy('proposals.created_at')
    .orderBy('proposals.id')
    .limit(MAX_ROWS)
    .execute();
}

/** Has a repository's request looked at, of whichever proposal it is. Answers whether there is one. */
export async function lookAtRequest(trx: Kysely<Database>, repositoryId: string, number: number): Promise<boolean> {
  const result = await trx
    .updateTable('proposals')
    .set({ host_checked_at: null })
    .where('repository_id', '=', repositoryId)
    .where('host_number', '=', number)
    .executeTakeFirst();
  return result.numUpdatedRows > 0n;
}

/** The repository is another one now: nothing is asked any more about requests of the one before, whose links stay. */
export async function forgetRequests(trx: Kysely<Database>, repositoryId: string): Promise<void> {
  await trx
    .updateTable('proposals')
    .set({ host_number: null, host_revision: null, host_checked_at: null })
    .where('repository_id', '=', repositoryId)
    .execute();
}

/** Those of these requests whose proposals were closed here and, as far as is known, there. */
export async function closedAmong(
  db: Kysely<Database>,
  repositoryId: string,
  numbers: readonly number[],
): Promise<{ readonly number: number; readonly state: ProposalRow['state'] }[]> {
  if (numbers.length === 0) return [];
  const rows = await db
    .selectFrom('proposals')
    .select(['host_number', 'state'])
    .where('repository_id', '=', repositoryId)
    .where('host_number', 'in', numbers)
    .where('host_closed_at', 'is not', null)
    .execute();
  return rows.flatMap(({ host_number: number, state }) => (number === null ? [] : [{ number, state }]));
}
