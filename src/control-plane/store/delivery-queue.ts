import { sql, type Kysely } from 'kysely';
import type { GitopsTarget } from '../../delivery/select-delivery.ts';
import type { ClusterRow, Database, IntentRow } from './schema.ts';

/**
 * Accepted intents that are taken from together: those of a repository, or those of all clusters in pull mode, which wait
 * in one database and cost one commit however many clusters they are for.
 */
export type WorkQueue = GitopsTarget | { readonly mode: 'pull' };

/** Names a queue in maps and logs. */
export function workQueueKey(queue: WorkQueue): string {
  return queue.mode === 'pull' ? 'pull' : `gitops/${queue.repositoryId}`;
}

/** What a replica holds while it writes to a queue's targets or reads a repository for comparison (`withExclusive`). */
export function deliveryLock(key: string): string {
  return `delivery/${key}`;
}

/** Every queue in which accepted intents wait. A cluster that cannot be delivered to is in none. */
export async function queuesWithWork(db: Kysely<Database>): Promise<WorkQueue[]> {
  const ways = await db
    .selectFrom('intents')
    .innerJoin('clusters', 'clusters.id', 'intents.cluster_id')
    .select(['clusters.connectivity_mode as mode', 'clusters.repository_id as repositoryId'])
    .where('intents.state', '=', 'accepted')
    .distinct()
    .execute();
  const queues = new Map<string, WorkQueue>();
  for (const { mode, repositoryId } of ways) {
    if (mode === 'pull') queues.set('pull', { mode });
    else if (mode === 'gitops' && repositoryId !== null) queues.set(repositoryId, { mode, repositoryId });
  }
  return [...queues.values()];
}

/** An accepted intent with what its cluster adds to rendering it. */
export type QueuedIntent = IntentRow & Pick<ClusterRow, 'slug' | 'delivery_epoch' | 'git_settings' | 'repository_id'>;

/**
 * The next accepted intents of a queue: from each cluster its oldest, then from each its second, and so on, so that one
 * cluster's burst does not hold up the others. In order of acceptance, to the millisecond; one object's intents always in
 * the order of their generations, since `accepted_at` never runs backwards for one object.
 *
 * @param without clusters whose turn is not now
 */
export async function nextBatch(
  db: Kysely<Database>,
  queue: WorkQueue,
  limit: number,
  without: readonly string[] = [],
): Promise<QueuedIntent[]> {
  const queued = db
    .selectFrom('intents')
    .innerJoin('clusters', 'clusters.id', 'intents.cluster_id')
    .select(['intents.id', 'intents.accepted_at'])
    .select(
      sql<number>`ROW_NUMBER() OVER (PARTITION BY intents.cluster_id ORDER BY intents.accepted_at, intents.generation, intents.id)`.as(
        'turn',
      ),
    )
    .where('intents.state', '=', 'accepted')
    .where('clusters.connectivity_mode', '=', queue.mode)
    .$if(without.length > 0, (query) => query.where('intents.cluster_id', 'not in', without))
    .$if(queue.mode === 'gitops', (query) =>
      query.where('clusters.repository_id', '=', queue.mode === 'gitops' ? queue.repositoryId : ''),
    );
  const ids = await db
    .selectFrom(queued.as('queued'))
    .select('id')
    .orderBy('turn')
    .orderBy('accepted_at')
    .orderBy('id')
    .limit(limit)
    .execute();
  if (ids.length === 0) return [];
  return await db
    .selectFrom('intents')
    .innerJoin('clusters', 'clusters.id', 'intents.cluster_id')
    .selectAll('intents')
    .select(['clusters.slug', 'clusters.delivery_epoch', 'clusters.git_settings', 'clusters.repository_id'])
    .where(
      'intents.id',
      'in',
      ids.map(({ id }) => id),
    )
    .orderBy('intents.accepted_at')
    .orderBy('intents.generation')
    .orderBy('intents.id')
    .execute();
}
