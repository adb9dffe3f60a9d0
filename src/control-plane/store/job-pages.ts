import type { Kysely } from 'kysely';
import type { Database, JobRow, JobState } from './schema.ts';

/** A job of one organization; another organization's is not found. */
export async function findJobOf(db: Kysely<Database>, organizationId: string, id: string): Promise<JobRow | undefined> {
  return await db
    .selectFrom('jobs')
    .innerJoin('clusters', 'clusters.id', 'jobs.cluster_id')
    .selectAll('jobs')
    .where('jobs.id', '=', id)
    .where('clusters.organization_id', '=', organizationId)
    .executeTakeFirst();
}

/** A cluster's jobs, the newest first; at most `limit`, those before the job `before`. */
export async function listJobsOf(
  db: Kysely<Database>,
  clusterId: string,
  page: {
    readonly limit: number;
    readonly before: readonly [createdAt: string, id: string] | undefined;
    readonly state: JobState | undefined;
  },
): Promise<JobRow[]> {
  let query = db
    .selectFrom('jobs')
    .selectAll()
    .where('cluster_id', '=', clusterId)
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    .limit(page.limit);
  const { before, state } = page;
  if (state !== undefined) query = query.where('state', '=', state);
  if (before !== undefined) {
    query = query.where((eb) =>
      eb.or([eb('created_at', '<', before[0]), eb.and([eb('created_at', '=', before[0]), eb('id', '<', before[1])])]),
    );
  }
  return await query.execute();
}
