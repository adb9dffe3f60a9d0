import { sql, type Kysely } from 'kysely';
import type { ClusterRow, Database, IntentRow } from './schema.ts';

/** A cluster with work, as far as choosing its transport needs it. */
export type ClusterWithWork = Pick<ClusterRow, 'connectivity_mode' | 'repository_id'>;

/** Each distinct way to clusters for which accepted intents wait. */
export async function waysWithWork(db: Kysely<Database>): Promise<ClusterWithWork[]> {
  return await db
    .selectFrom('intents')
    .innerJoin('clusters', 'clusters.id', 'intents.cluster_id')
    .select(['clusters.connectivity_mode', 'clusters.repository_id'])
    .where('intents.state', '=', 'accepted')
    .distinct()
    .execute();
}

/** An accepted intent with what its cluster adds to rendering it. */
export type QueuedIntent = IntentRow & Pick<ClusterRow, 'slug' | 'delivery_epoch'>;

/**
 * The next accepted intents for the clusters of a repository: from each cluster its oldest, then from each its second,
 * and so on, so that one cluster's burst does not hold up the others. In order of acceptance, to the millisecond; one
 * object's intents always in the order of their generations, since `accepted_at` never runs backwards for one object.
 */
export async function nextBatch(db: Kysely<Database>, repositoryId: string, limit: number): Promise<QueuedIntent[]> {
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
    .where('clusters.repository_id', '=', repositoryId);
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
    .select(['clusters.slug', 'clusters.delivery_epoch'])
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
