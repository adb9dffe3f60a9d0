import type { FastifyRequest } from 'fastify';
import { AppError } from '../../../protocol/app-error.ts';
import type { RefusalAudit } from '../../refusal-audit.ts';
import { jobNotFound } from '../../jobs/settle-job.ts';
import type { Store } from '../../store/open-store.ts';
import { agentOf } from './authenticate.ts';

/**
 * The job of a write is the caller's own. Read outside of the write, since whose a job is never changes.
 *
 * @throws AppError `job_not_found`, or `cluster_mismatch`, which is audited
 */
export async function requireOwnJob(
  deps: { readonly store: Pick<Store, 'db'>; readonly refusals: RefusalAudit },
  request: Pick<FastifyRequest, 'agent'>,
  jobId: string,
): Promise<void> {
  const { cluster } = agentOf(request);
  const job = await deps.store.db.selectFrom('jobs').select('cluster_id').where('id', '=', jobId).executeTakeFirst();
  if (job === undefined) throw jobNotFound(jobId);
  if (job.cluster_id === cluster.id) return;
  await deps.refusals.record(cluster, {
    kind: 'ClusterMismatch',
    summary: 'a job of another cluster was written to with the credential of this one',
    reason: 'cluster_mismatch',
  });
  throw new AppError('cluster_mismatch', 'this job is not for the cluster that the credential belongs to');
}
