import { sql, type Kysely, type RawBuilder } from 'kysely';
import type { GitopsTarget, PushTarget } from '../../delivery/select-delivery.ts';
import type { ClusterRow, Database, IntentRow } from './schema.ts';

/**
 * Work that is taken from together: that of a repository, that of one cluster's API server, or that of all clusters in pull
 * mode, which waits in one database and costs one commit however many clusters it is for.
 */
export type WorkQueue = GitopsTarget | PushTarget | { readonly mode: 'pull' };

/** Names a queue in maps and logs. */
export function workQueueKey(queue: WorkQueue): string {
  switch (queue.mode) {
    case 'pull':
      return 'pull';
    case 'push':
      return `push/${queue.clusterId}`;
    case 'gitops':
      return `gitops/${queue.repositoryId}`;
  }
}

/** What a replica holds while it writes to a queue's targets or reads a repository for comparison (`withExclusive`). */
export function deliveryLock(key: string): string {
  return `delivery/${key}`;
}

/** What of a queue may have to wait alone: a cluster, or in push mode, where a queue is one cluster's, an object. */
export function memberOf(
  queue: WorkQueue,
  intent: Pick<IntentRow, 'cluster_id' | 'target_kind' | 'namespace' | 'name'>,
): string {
  return queue.mode === 'push' ? `${intent.target_kind}/${intent.namespace}/${intent.name}` : intent.cluster_id;
}

function memberColumn(queue: WorkQueue): RawBuilder<string> {
  return queue.mode === 'push'
    ? sql<string>`waiting.target_kind || '/' || waiting.namespace || '/' || waiting.name`
    : sql<string>`waiting.cluster_id`;
}

/** Every queue in which something waits. A cluster that cannot be delivered to is in none. */
export async function queuesWithWork(db: Kysely<Database>): Promise<WorkQueue[]> {
  const ways = await db
    .selectFrom(waiting(db).as('waiting'))
    .innerJoin('clusters', 'clusters.id', 'waiting.cluster_id')
    .select(['clusters.connectivity_mode as mode', 'clusters.repository_id as repositoryId'])
    .select((eb) =>
      eb
        .case()
        .when('clusters.connectivity_mode', '=', 'push')
        .then(eb.ref('clusters.id'))
        .else('')
        .end()
        .as('clusterId'),
    )
    .where('clusters.delivery_held', '=', 0)
    .where((eb) =>
      eb.or([
        eb('clusters.connectivity_mode', '!=', 'push'),
        eb.exists(
          eb
            .selectFrom('push_credentials')
            .select('push_credentials.id')
            .whereRef('push_credentials.cluster_id', '=', 'clusters.id')
            .where('push_credentials.state', '=', 'current'),
        ),
      ]),
    )
    .distinct()
    .execute();
  const queues = new Map<string, WorkQueue>();
  for (const { mode, repositoryId, clusterId } of ways) {
    if (mode === 'pull') queues.set('pull', { mode });
    else if (mode === 'push') queues.set(clusterId, { mode, clusterId });
    else if (repositoryId !== null) queues.set(repositoryId, { mode, repositoryId });
  }
  return [...queues.values()];
}

/** An intent that waits for delivery, with what its cluster adds to rendering it. */
export type QueuedIntent = IntentRow &
  Pick<ClusterRow, 'slug' | 'delivery_epoch' | 'git_settings' | 'repository_id' | 'connectivity_mode'> & {
    /** The switch of mode for which it is delivered once more; null: it was accepted and waits for its first delivery. */
    readonly handover: string | null;
  };

/**
 * The next intents of a queue: from each cluster its oldest, then from each its second, and so on, so that one cluster's
 * burst does not hold up the others. In order of acceptance, to the millisecond; one object's intents always in the order of
 * their generations, since `accepted_at` never runs backwards for one object.
 *
 * @param without members (`memberOf`) whose turn is not now
 */
export async function nextBatch(
  db: Kysely<Database>,
  queue: WorkQueue,
  limit: number,
  without: readonly string[] = [],
): Promise<QueuedIntent[]> {
  const queued = db
    .selectFrom(waiting(db).as('waiting'))
    .innerJoin('clusters', 'clusters.id', 'waiting.cluster_id')
    .select(['waiting.id', 'waiting.accepted_at', 'waiting.handover'])
    .select(
      sql<number>`ROW_NUMBER() OVER (PARTITION BY waiting.cluster_id ORDER BY waiting.accepted_at, waiting.generation, waiting.id)`.as(
        'turn',
      ),
    )
    .where('clusters.connectivity_mode', '=', queue.mode)
    .where('clusters.delivery_held', '=', 0)
    .$if(without.length > 0, (query) => query.where(memberColumn(queue), 'not in', without))
    .$if(queue.mode === 'push', (query) =>
      query.where('waiting.cluster_id', '=', queue.mode === 'push' ? queue.clusterId : ''),
    )
    .$if(queue.mode === 'gitops', (query) =>
      query.where('clusters.repository_id', '=', queue.mode === 'gitops' ? queue.repositoryId : ''),
    );
  const next = await db
    .selectFrom(queued.as('queued'))
    .select(['id', 'handover'])
    .orderBy('turn')
    .orderBy('accepted_at')
    .orderBy('id')
    .limit(limit)
    .execute();
  if (next.length === 0) return [];
  const handovers = new Map(next.map(({ id, handover }) => [id, handover]));
  const rows = await db
    .selectFrom('intents')
    .innerJoin('clusters', 'clusters.id', 'intents.cluster_id')
    .selectAll('intents')
    .select(['clusters.slug', 'clusters.delivery_epoch', 'clusters.git_settings', 'clusters.repository_id'])
    .select('clusters.connectivity_mode')
    .where('intents.id', 'in', [...handovers.keys()])
    .orderBy('intents.accepted_at')
    .orderBy('intents.generation')
    .orderBy('intents.id')
    .execute();
  return rows.map((row) => ({ ...row, handover: handovers.get(row.id) ?? null }));
}

/**
 * Accepted intents, and those that a switch of mode delivers once more. An intent that went back to `accepted` meanwhile is
 * both, and is taken as accepted.
 */
function waiting(db: Kysely<Database>) {
  const accepted = db
    .selectFrom('intents')
    .select(['id', 'cluster_id', 'target_kind', 'namespace', 'name', 'generation', 'accepted_at'])
    .select(sql<string | null>`NULL`.as('handover'))
    .where('state', '=', 'accepted')
    .where('awaits_approval', 'is', null)
    // What is to be cancelled goes with its cancellation, which has all of it: else it would begin first.
    .where((eb) =>
      eb.not(
        eb.exists(
          eb
            .selectFrom('intents as cancellation')
            .select('cancellation.id')
            .whereRef('cancellation.cancels', '=', 'intents.id')
            .where('cancellation.state', 'not in', ['failed', 'superseded']),
        ),
      ),
    );
  const handedOver = db
    .selectFrom('mode_handovers')
    .innerJoin('intents', 'intents.id', 'mode_handovers.intent_id')
    .innerJoin('clusters as target', 'target.id', 'mode_handovers.cluster_id')
    .select(['intents.id', 'intents.cluster_id', 'intents.target_kind', 'intents.namespace', 'intents.name'])
    .select(['intents.generation', 'intents.accepted_at'])
    .select('mode_handovers.switch_id as handover')
    .where('mode_handovers.state', '=', 'pending')
    .whereRef('mode_handovers.epoch', '=', 'target.delivery_epoch')
    .where('intents.state', '!=', 'accepted');
  return accepted.unionAll(handedOver);
}
