import type { Kysely } from 'kysely';
import { gitSettingsOf } from '../git/git-settings.ts';
import { approvalsOfIntents } from '../store/approvals.ts';
import { findCluster } from '../store/clusters.ts';
import { findIntentOf } from '../store/intents.ts';
import { repositoryOfCluster } from '../store/repositories.ts';
import type { Database, IntentRow } from '../store/schema.ts';
import type { TimelineFacts } from './intent-timeline.ts';

/** Undefined: the organization has no such intent. */
export async function readTimeline(
  db: Kysely<Database>,
  organizationId: string,
  intentId: string,
): Promise<TimelineFacts | undefined> {
  const found = await findIntentOf(db, organizationId, intentId);
  const cluster = found === undefined ? undefined : await findCluster(db, found.intent.cluster_id);
  if (found === undefined || cluster === undefined) return undefined;
  const { intent } = found;
  const review = gitSettingsOf(cluster).review;
  return {
    ...found,
    cluster,
    isReviewed: cluster.connectivity_mode === 'gitops' && review === 'proposal',
    approval: (await approvalsOfIntents(db, [intentId])).get(intentId),
    job: await jobOf(db, intentId, found.receipt?.job_id ?? null),
    repository: await repositoryOfCluster(db, cluster.id),
    newer: intent.state === 'superseded' ? await newerOf(db, intent) : undefined,
  };
}

async function jobOf(db: Kysely<Database>, intentId: string, jobId: string | null) {
  let query = db.selectFrom('jobs').selectAll();
  query = jobId === null ? query.where('intent_id', '=', intentId) : query.where('id', '=', jobId);
  return await query.orderBy('created_at', 'desc').limit(1).executeTakeFirst();
}

async function newerOf(db: Kysely<Database>, intent: IntentRow) {
  return await db
    .selectFrom('intents')
    .select(['id', 'generation', 'accepted_at'])
    .where('cluster_id', '=', intent.cluster_id)
    .where('target_kind', '=', intent.target_kind)
    .where('namespace', '=', intent.namespace)
    .where('name', '=', intent.name)
    .where('generation', '>', intent.generation)
    .orderBy('generation')
    .limit(1)
    .executeTakeFirst();
}
