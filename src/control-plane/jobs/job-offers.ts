import type { Job } from '../../protocol/job.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Logger } from '../../runtime/logger.ts';
import type { PayloadSigner } from '../payload-signer.ts';
import { closeJob, markDelivered, offeredJobs } from '../store/jobs.ts';
import { moveIntentRows } from '../store/intent-progress.ts';
import type { Store } from '../store/open-store.ts';
import type { ClusterRow, JobRow } from '../store/schema.ts';
import { statusTopic } from '../topics.ts';
import type { Wakeups } from '../wakeups.ts';
import { JobNotDeliverable, toWireJob } from './to-wire-job.ts';

/** One answer. What does not fit comes with the next, once these are acknowledged. */
const MAX_JOBS = 100;
const MAX_BYTES = 4 * 1024 * 1024;

export interface JobOffersDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly wakeups: Wakeups;
  readonly signer: Pick<PayloadSigner, 'sign'>;
  readonly logger: Logger;
}

/** Hands out jobs. They are handed out again, by every poll, until they are acknowledged. */
export class JobOffers {
  readonly #deps: JobOffersDeps;

  constructor(deps: JobOffersDeps) {
    this.#deps = deps;
  }

  /** The jobs for one answer, in order of acceptance, expired ones included: the operator says so of them. */
  async take(cluster: ClusterRow): Promise<readonly Job[]> {
    const { store, clock } = this.#deps;
    const limits = { jobs: MAX_JOBS, bytes: MAX_BYTES };
    const rows = await offeredJobs(store.db, { id: cluster.id, deliveryEpoch: cluster.delivery_epoch }, limits);
    if (rows.length === 0) return [];
    const jobs = (await Promise.all(rows.map(async (row) => await this.#onTheWire(row, cluster)))).filter(
      (job) => job !== undefined,
    );
    const taken = new Set(jobs.map(({ id }) => id));
    const first = rows.filter(({ id, state }) => state === 'pending' && taken.has(id)).map(({ id }) => id);
    if (first.length > 0) {
      const at = clock.now().toISOString();
      await store.write(async (trx) => await markDelivered(trx, first, at), { urgent: true });
    }
    return jobs;
  }

  /** One job that cannot be made must not hold up the others. */
  async #onTheWire(row: JobRow, cluster: ClusterRow): Promise<Job | undefined> {
    try {
      return await toWireJob(row, cluster, this.#deps.signer);
    } catch (error) {
      if (error instanceof JobNotDeliverable) await this.#fail(row, error.message);
      else
        this.#deps.logger.error({ err: error, jobId: row.id }, 'a job cannot be handed out; trying at the next poll');
      return undefined;
    }
  }

  async #fail(row: JobRow, reason: string): Promise<void> {
    const { store, clock, wakeups } = this.#deps;
    const at = clock.now().toISOString();
    await store.write(async (trx) => {
      if (!(await closeJob(trx, row.id, { outcome: 'failed', error: reason, applied_ref: null }, at))) return;
      await moveIntentRows(trx, row.cluster_id, at, [{ id: row.intent_id, state: 'failed', reason, notApplied: true }]);
    });
    wakeups.notify(statusTopic(row.cluster_id));
  }
}
