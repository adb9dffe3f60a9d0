import type { Kysely } from 'kysely';
import { EXPIRED } from '../../protocol/job.ts';
import type { Clock } from '../../runtime/clock.ts';
import { redeliverIntent } from '../store/intent-redelivery.ts';
import { JOB_STATES } from '../store/job-rows.ts';
import { closeJob } from '../store/jobs.ts';
import { handoverOfJob, setHandover } from '../store/mode-handovers.ts';
import type { Store } from '../store/open-store.ts';
import type { Database } from '../store/schema.ts';
import { DELIVERY_TOPIC, statusTopic } from '../topics.ts';
import type { Wakeups } from '../wakeups.ts';

const DAY_MS = 24 * 60 * 60 * 1000;
/** After `expiresAt` a job is offered and takes a result for this long: a cluster that comes back says what became of it. */
export const EXPIRED_OFFER_MS = DAY_MS;
/** At least this long a closed job is found by its id. */
export const CLOSED_JOB_LIFETIME_MS = 30 * DAY_MS;

/** Rows in one write, so that it holds up others for a moment only. */
const CHUNK = 200;

export interface JobUpkeepDeps {
  readonly store: Store;
  readonly wakeups: Pick<Wakeups, 'notify'>;
  readonly clock: Clock;
}

/** Closes jobs that nobody took in time and delivers their intents anew; deletes jobs that were closed long ago. */
export async function keepJobs(deps: JobUpkeepDeps): Promise<void> {
  while ((await closeExpired(deps)) === CHUNK);
  while ((await deleteClosed(deps)) === CHUNK);
}

async function closeExpired({ store, wakeups, clock }: JobUpkeepDeps): Promise<number> {
  const now = clock.now();
  const at = now.toISOString();
  const before = new Date(now.getTime() - EXPIRED_OFFER_MS).toISOString();
  const { found, clusters, redelivered } = await store.write(async (trx) => {
    const jobs = await trx
      .selectFrom('jobs')
      .innerJoin('clusters', 'clusters.id', 'jobs.cluster_id')
      .select(['jobs.id', 'jobs.cluster_id', 'jobs.intent_id', 'jobs.generation', 'jobs.expires_at'])
      .select(['jobs.delivery_epoch', 'clusters.delivery_epoch as present_epoch'])
      .where(
        'jobs.state',
        'in',
        JOB_STATES.filter((state) => state !== 'closed'),
      )
      .where('jobs.expires_at', '<=', before)
      .limit(CHUNK)
      .execute();
    let again = 0;
    for (const job of jobs) {
      await closeJob(trx, job.id, { outcome: 'noop', error: EXPIRED, applied_ref: null }, at);
      // What is of an older epoch was delivered anew when the epoch was raised.
      if (job.delivery_epoch !== job.present_epoch || !(await isOf(trx, job))) continue;
      const why = `its job expired at ${job.expires_at} and the cluster sent no result`;
      const handover = await handoverOfJob(trx, job);
      if (handover !== undefined) {
        await setHandover(trx, handover, { state: 'pending', reason: `brought anew: ${why}` });
        again += 1;
        continue;
      }
      if (await redeliverIntent(trx, job.intent_id, why)) again += 1;
    }
    return { found: jobs.length, clusters: new Set(jobs.map((job) => job.cluster_id)), redelivered: again };
  });
  for (const clusterId of clusters) wakeups.notify(statusTopic(clusterId));
  if (redelivered > 0) wakeups.notify(DELIVERY_TOPIC);
  return found;
}

/** Whether the intent still has the number that the job was made for. */
async function isOf(
  trx: Kysely<Database>,
  job: { readonly intent_id: string; readonly generation: number },
): Promise<boolean> {
  const intent = await trx
    .selectFrom('intents')
    .select('generation')
    .where('id', '=', job.intent_id)
    .executeTakeFirst();
  return intent?.generation === job.generation;
}

async function deleteClosed({ store, clock }: JobUpkeepDeps): Promise<number> {
  const before = new Date(clock.now().getTime() - CLOSED_JOB_LIFETIME_MS).toISOString();
  return await store.write(async (trx) => {
    const old = await trx
      .selectFrom('jobs')
      .select('id')
      .where('state', '=', 'closed')
      // By the index; a job that was closed before it expired is kept a little longer for that.
      .where('expires_at', '<=', before)
      .where('closed_at', '<=', before)
      .limit(CHUNK)
      .execute();
    if (old.length === 0) return 0;
    await trx
      .deleteFrom('jobs')
      .where(
        'id',
        'in',
        old.map(({ id }) => id),
      )
      .execute();
    return old.length;
  });
}
