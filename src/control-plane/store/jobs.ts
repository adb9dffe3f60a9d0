import { sql, type Kysely } from 'kysely';
import { noteJobs, OF_CHANGED_JOB } from './changes.ts';
import type { Database, JobRow } from './schema.ts';

/** States in which the queue offers a job. */
const OFFERED: readonly JobRow['state'][] = ['pending', 'delivered'];
const CLOSED: JobRow['state'] = 'closed';

/** A job before anything happened to it. */
export type NewJob = Pick<
  JobRow,
  | 'id'
  | 'cluster_id'
  | 'intent_id'
  | 'kind'
  | 'target_kind'
  | 'namespace'
  | 'name'
  | 'generation'
  | 'delivery_epoch'
  | 'idempotency_key'
  | 'payload'
  | 'created_at'
  | 'expires_at'
>;

export async function insertJob(trx: Kysely<Database>, job: NewJob): Promise<void> {
  const row: JobRow = {
    ...job,
    state: 'pending',
    delivered_at: null,
    acknowledged_at: null,
    closed_at: null,
    phase: null,
    status_message: null,
    status_conditions: null,
    status_at: null,
    outcome: null,
    error: null,
    applied_ref: null,
  };
  await trx
    .insertInto('jobs')
    .values((eb) => ({
      ...row,
      organization_id: eb.selectFrom('clusters').select('organization_id').where('id', '=', job.cluster_id),
    }))
    .execute();
}

export async function findJob(db: Kysely<Database>, id: string): Promise<JobRow | undefined> {
  return await db.selectFrom('jobs').selectAll().where('id', '=', id).executeTakeFirst();
}

/** The open jobs of an intent: at most one of each delivery epoch. */
export async function openJobsOf(
  db: Kysely<Database>,
  intentId: string,
): Promise<Pick<JobRow, 'id' | 'delivery_epoch'>[]> {
  return await db
    .selectFrom('jobs')
    .select(['id', 'delivery_epoch'])
    .where('intent_id', '=', intentId)
    .where('state', '!=', CLOSED)
    .execute();
}

/**
 * The jobs that a poll of the cluster is answered with: those of its present epoch that nobody has acknowledged, in the
 * order in which their intents were accepted, as many as fit.
 *
 * @param limits at least one job is answered, however large it is
 */
export async function offeredJobs(
  db: Kysely<Database>,
  cluster: { readonly id: string; readonly deliveryEpoch: number },
  limits: { readonly jobs: number; readonly bytes: number },
): Promise<JobRow[]> {
  const candidates = await db
    .selectFrom('jobs')
    .innerJoin('intents', 'intents.id', 'jobs.intent_id')
    .select(['jobs.id', sql<number>`octet_length(jobs.payload)`.as('bytes')])
    .where('jobs.cluster_id', '=', cluster.id)
    .where('jobs.state', 'in', OFFERED)
    .where('jobs.delivery_epoch', '=', cluster.deliveryEpoch)
    .orderBy('intents.accepted_at')
    .orderBy('jobs.generation')
    .orderBy('intents.id')
    .limit(limits.jobs)
    .execute();
  let bytes = 0;
  const ids: string[] = [];
  for (const candidate of candidates) {
    bytes += candidate.bytes;
    if (ids.length > 0 && bytes > limits.bytes) break;
    ids.push(candidate.id);
  }
  if (ids.length === 0) return [];
  const rows = await db.selectFrom('jobs').selectAll().where('id', 'in', ids).execute();
  const byId = new Map(rows.map((row) => [row.id, row]));
  return ids.flatMap((id) => byId.get(id) ?? []);
}

/** Jobs were handed out. Those that were acknowledged or closed meanwhile stay what they are. */
export async function markDelivered(trx: Kysely<Database>, ids: readonly string[], at: string): Promise<void> {
  const delivered = await trx
    .updateTable('jobs')
    .set({ state: 'delivered', delivered_at: at })
    .where('id', 'in', ids)
    .where('state', '=', 'pending')
    .returning(OF_CHANGED_JOB)
    .execute();
  noteJobs(trx, delivered);
}

/** An ack, or what implies one. A job that has come further stays there. */
export async function markAcknowledged(trx: Kysely<Database>, id: string, at: string): Promise<void> {
  const acknowledged = await trx
    .updateTable('jobs')
    .set({
      state: 'acknowledged',
      acknowledged_at: at,
      delivered_at: sql<string>`coalesce(delivered_at, ${at})`,
    })
    .where('id', '=', id)
    .where('state', 'in', OFFERED)
    .returning(OF_CHANGED_JOB)
    .execute();
  noteJobs(trx, acknowledged);
}

/**
 * The operator registered anew and may have lost what it had acknowledged: it is offered again. One that still has such a
 * job acknowledges it once more, and one that had applied it finds nothing to do.
 */
export async function offerAgain(trx: Kysely<Database>, clusterId: string): Promise<void> {
  await trx
    .updateTable('jobs')
    .set({ state: 'delivered', acknowledged_at: null })
    .where('cluster_id', '=', clusterId)
    .where('state', '=', 'acknowledged')
    .execute();
}

/** The latest status; earlier ones are not kept. */
export async function setJobStatus(
  trx: Kysely<Database>,
  id: string,
  status: Pick<JobRow, 'phase' | 'status_message' | 'status_conditions' | 'status_at'>,
): Promise<void> {
  noteJobs(trx, await trx.updateTable('jobs').set(status).where('id', '=', id).returning(OF_CHANGED_JOB).execute());
}

/** Why a job has ended. */
export type JobEnd = Pick<JobRow, 'outcome' | 'error' | 'applied_ref'>;

/** @returns whether it was open: a job is closed once */
export async function closeJob(trx: Kysely<Database>, id: string, end: JobEnd, at: string): Promise<boolean> {
  const closed = await trx
    .updateTable('jobs')
    .set({ ...end, state: CLOSED, closed_at: at })
    .where('id', '=', id)
    .where('state', '!=', CLOSED)
    .returning(OF_CHANGED_JOB)
    .execute();
  noteJobs(trx, closed);
  return closed.length > 0;
}

/**
 * Closes the jobs of older generations of an object that the operator has not acknowledged: a cluster that was away goes
 * to the newest at once instead of through everything between.
 */
export async function closeOvertakenJobs(
  trx: Kysely<Database>,
  newer: Pick<JobRow, 'cluster_id' | 'target_kind' | 'namespace' | 'name' | 'generation'>,
  error: string,
  at: string,
): Promise<void> {
  const closed = await trx
    .updateTable('jobs')
    .set({ state: CLOSED, closed_at: at, outcome: 'noop', error })
    .where('cluster_id', '=', newer.cluster_id)
    .where('state', 'in', OFFERED)
    .where('target_kind', '=', newer.target_kind)
    .where('namespace', '=', newer.namespace)
    .where('name', '=', newer.name)
    .where('generation', '<', newer.generation)
    .returning(OF_CHANGED_JOB)
    .execute();
  noteJobs(trx, closed);
}
