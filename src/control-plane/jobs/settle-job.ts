import type { Kysely } from 'kysely';
import { AppError } from '../../protocol/app-error.ts';
import { EXPIRED, type JobResult, type JobStatus } from '../../protocol/job.ts';
import { findCluster } from '../store/clusters.ts';
import { catchUpWithReports, moveIntentRows } from '../store/intent-progress.ts';
import { redeliverIntent } from '../store/intent-redelivery.ts';
import { closeJob, findJob, markAcknowledged, setJobStatus } from '../store/jobs.ts';
import { leaveHandover } from '../store/leave-handovers.ts';
import { handoverOfJob, setHandover } from '../store/mode-handovers.ts';
import type { Database, JobRow } from '../store/schema.ts';
import { MAX_AHEAD, noteSource } from './note-ahead.ts';
import {
  APPLY_CONFLICT,
  judgePhase,
  judgeResult,
  SOURCE_NOT_BELIEVED,
  type JudgedIntent,
  type Verdict,
} from './judge-result.ts';

/** What the caller notifies after the commit. */
export interface Settled {
  readonly intentMoved: boolean;
  readonly redelivered: boolean;
}

const NOTHING: Settled = { intentMoved: false, redelivered: false };

/** @throws AppError `job_closed` */
export async function acknowledgeJob(trx: Kysely<Database>, jobId: string, at: string): Promise<void> {
  await requireOpen(trx, jobId);
  await markAcknowledged(trx, jobId, at);
}

/**
 * Records a status; it acknowledges the job too.
 *
 * @throws AppError `job_closed`
 */
export async function recordJobStatus(
  trx: Kysely<Database>,
  jobId: string,
  status: JobStatus,
  now: Date,
): Promise<Settled> {
  const at = now.toISOString();
  const job = await requireOpen(trx, jobId);
  await markAcknowledged(trx, jobId, at);
  await setJobStatus(trx, jobId, {
    phase: status.phase,
    status_message: status.message ?? null,
    status_conditions: status.conditions === undefined ? null : JSON.stringify(status.conditions),
    status_at: status.timestamp ?? at,
  });
  return await moveIntent(trx, job, at, (intent) => judgePhase(intent, status.phase));
}

/**
 * Closes a job with its result, once, and moves its intent; it acknowledges the job too.
 *
 * @throws AppError `result_exists`
 */
export async function recordJobResult(
  trx: Kysely<Database>,
  jobId: string,
  result: JobResult,
  now: Date,
): Promise<Settled> {
  const at = now.toISOString();
  const job = await findJob(trx, jobId);
  if (job === undefined) throw jobNotFound(jobId);
  await markAcknowledged(trx, jobId, at);
  const closed = await closeJob(
    trx,
    jobId,
    {
      outcome: result.outcome,
      error: result.error ?? null,
      applied_ref: result.appliedRef === undefined ? null : JSON.stringify(result.appliedRef),
    },
    at,
  );
  if (!closed) throw new AppError('result_exists', `job ${jobId} is closed; its result is recorded already`);
  await leaveOvertaken(trx, job, result, at);
  const ahead = await noteNewer(trx, job, result, at);
  const timing = { expiresAt: job.expires_at, now };
  if (ahead === 'not believed') {
    const { epoch, generation } = result.source ?? {};
    const error =
      `${SOURCE_NOT_BELIEVED}: the operator left ${job.namespace}/${job.name} alone, since it has the source ${epoch}.${generation}, ` +
      `more than ${MAX_AHEAD} beyond what was ever given here; take the annotation app.service.io/source off the object and ask again`;
    return await moveIntent(trx, job, at, (intent) => judgeResult(intent, { outcome: 'failed', error }, timing));
  }
  if (ahead !== undefined) return { intentMoved: true, redelivered: ahead.redelivered };
  if (await broughtAnew(trx, job, result, now)) return { intentMoved: false, redelivered: true };
  const isCarriedOut = result.outcome === 'succeeded';
  return await moveIntent(trx, job, at, (intent) => judgeResult(intent, result, timing), isCarriedOut);
}

/**
 * The operator did nothing since the cluster has a newer pair of the object, or had one of an object since deleted. From an
 * intent that is known here that is a matter of order; else this control plane was restored from a backup.
 *
 * @returns undefined when it is not so; `not believed` when no control plane can have counted that far
 */
async function noteNewer(
  trx: Kysely<Database>,
  job: JobRow,
  { outcome, source }: JobResult,
  at: string,
): Promise<{ readonly redelivered: boolean } | 'not believed' | undefined> {
  if (outcome !== 'noop' || source === undefined || source.intentId === job.intent_id) return undefined;
  const cluster = await findCluster(trx, job.cluster_id);
  if (cluster === undefined) return undefined;
  const { cluster_id: clusterId, target_kind: kind, namespace, name } = job;
  return await noteSource(trx, cluster, { target: { clusterId, kind, namespace, name }, source }, at);
}

/** What a switch brought is older than what the cluster has, or had: the object stays as it is. */
async function leaveOvertaken(trx: Kysely<Database>, job: JobRow, result: JobResult, at: string): Promise<void> {
  const { outcome, source, error = '' } = result;
  if (outcome !== 'noop' || source === undefined || source.generation <= job.generation) return;
  const row = await handoverOfJob(trx, job);
  if (row !== undefined) await leaveHandover(trx, row, `the cluster has, or had, a later one: ${error}`, at);
}

/**
 * What a result means for a switch of mode that brought its intent once more. What expired before it was taken is brought
 * again; what the cluster refused is refused for the switch, whatever was made of the intent long ago.
 *
 * @returns whether it is brought again: then nothing has ended
 */
async function broughtAnew(trx: Kysely<Database>, job: JobRow, result: JobResult, now: Date): Promise<boolean> {
  const { outcome, error = '', appliedRef } = result;
  const isRefused = outcome === 'conflict' || (outcome === 'failed' && appliedRef === undefined);
  const isExpired = outcome === 'noop' && error === EXPIRED;
  if (!isRefused && !isExpired) return false;
  const row = await handoverOfJob(trx, job);
  if (row === undefined) return false;
  const verdict = judgeResult({ state: 'delivered', action: row.action }, result, { expiresAt: job.expires_at, now });
  if (verdict.move === 'redeliver') {
    await setHandover(trx, row, { state: 'pending', reason: `brought anew: ${verdict.reason}` });
    return true;
  }
  const reason = verdict.move === 'failed' ? verdict.reason : `${APPLY_CONFLICT}: ${error}`;
  await setHandover(trx, row, { state: 'refused', reason });
  return false;
}

export function jobNotFound(jobId: string): AppError {
  return new AppError('job_not_found', `there is no job ${jobId}: it never was, or it was closed long ago and deleted`);
}

async function requireOpen(trx: Kysely<Database>, jobId: string): Promise<JobRow> {
  const job = await findJob(trx, jobId);
  if (job === undefined) throw jobNotFound(jobId);
  if (job.state === 'closed') throw new AppError('job_closed', `job ${jobId} is closed with ${job.outcome}`);
  return job;
}

/** A job of an older epoch is recorded and moves nothing, unless it has removed what its intent wanted gone. */
async function moveIntent(
  trx: Kysely<Database>,
  job: JobRow,
  at: string,
  judge: (intent: JudgedIntent) => Verdict,
  isCarriedOut = false,
): Promise<Settled> {
  const cluster = await findCluster(trx, job.cluster_id);
  if (cluster === undefined) return NOTHING;
  const intent = await trx
    .selectFrom('intents')
    .select(['id', 'state', 'action', 'generation', 'cancels'])
    .where('id', '=', job.intent_id)
    .executeTakeFirst();
  // Numbered anew since: this job is of the number before.
  if (intent === undefined || intent.generation !== job.generation) return NOTHING;
  const verdict = judge(intent);
  const isGone = isCarriedOut && verdict.move === 'removed';
  if (job.delivery_epoch < cluster.delivery_epoch && !isGone) return NOTHING;
  switch (verdict.move) {
    case 'none':
      return NOTHING;
    case 'redeliver':
      await redeliverIntent(trx, intent.id, verdict.reason);
      return { intentMoved: true, redelivered: true };
    case 'reports':
      await moveIntentRows(
        trx,
        job.cluster_id,
        at,
        intent.state === 'delivered' ? [{ id: intent.id, state: 'applied' }] : [],
      );
      await catchUpWithReports(trx, job.cluster_id, intent.id, cluster.delivery_epoch, at);
      return { intentMoved: true, redelivered: false };
    case 'failed': {
      const { move: state, ...why } = verdict;
      await moveIntentRows(trx, job.cluster_id, at, [{ id: intent.id, state, ...why }]);
      return { intentMoved: true, redelivered: false };
    }
    case 'ready':
    case 'removed':
    case 'applied':
      await moveIntentRows(trx, job.cluster_id, at, [{ id: intent.id, state: verdict.move }]);
      return { intentMoved: true, redelivered: false };
  }
}
