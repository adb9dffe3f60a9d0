import type { Kysely } from 'kysely';
import type { DeliveryItem, Probe, Receipt } from '../../delivery/delivery.ts';
import { queuedJob } from '../../delivery/pull/queued-job.ts';
import type { JobQueue } from '../../delivery/pull/pull-delivery.ts';
import { newId } from '../../protocol/ids.ts';
import type { Clock } from '../../runtime/clock.ts';
import { findCluster } from '../store/clusters.ts';
import { closeJob, closeOvertakenJobs, insertJob, openJobsOf } from '../store/jobs.ts';
import { handoverOf, storeHandoverReceipt } from '../store/mode-handovers.ts';
import type { Store } from '../store/open-store.ts';
import { storeReceipt } from '../store/receipts.ts';
import type { ClusterRow, Database, JobRow } from '../store/schema.ts';
import { jobsTopic, MODES_TOPIC } from '../topics.ts';
import type { Wakeups } from '../wakeups.ts';

/** From a job's creation to its `expiresAt` (decisions, "Jobs"). */
export const DEFAULT_JOB_LIFETIME_MS = 24 * 60 * 60 * 1000;

export interface StoreJobQueueDeps {
  readonly store: Store;
  readonly wakeups: Wakeups;
  readonly clock: Clock;
  readonly randomBytes: (n: number) => Uint8Array;
  /** Default 24 h. */
  readonly jobLifetimeMs?: number | undefined;
}

/** The queues of all clusters, in the database. Writes of many clusters share a transaction there. */
export class StoreJobQueue implements JobQueue {
  readonly #deps: StoreJobQueueDeps;

  constructor(deps: StoreJobQueueDeps) {
    this.#deps = deps;
  }

  async probe(clusterId: string): Promise<Probe> {
    const cluster = await findCluster(this.#deps.store.db, clusterId);
    return cluster === undefined || cluster.disabled_at !== null
      ? { state: 'forbidden', message: cluster === undefined ? 'the cluster was deleted' : 'the cluster is disabled' }
      : { state: 'ready' };
  }

  async put(clusterId: string, batch: readonly DeliveryItem[]): Promise<readonly Receipt[]> {
    const { store, wakeups } = this.#deps;
    const { receipts, added } = await store.write(async (trx) => await this.#putIn(trx, clusterId, batch));
    if (added) wakeups.notify(jobsTopic(clusterId));
    if (added && batch.some(({ isHandover }) => isHandover === true)) wakeups.notify(MODES_TOPIC);
    return receipts;
  }

  async #putIn(
    trx: Kysely<Database>,
    clusterId: string,
    batch: readonly DeliveryItem[],
  ): Promise<{ readonly receipts: Receipt[]; readonly added: boolean }> {
    // Read again in here: a mode switch that was committed since the batch was taken is a fence.
    const cluster = await findCluster(trx, clusterId);
    const now = this.#deps.clock.now();
    const at = now.toISOString();
    const receipts: Receipt[] = [];
    let added = false;
    for (const rendered of batch) {
      const intentId = rendered.intent.id;
      const stale = whyNotNow(cluster, rendered);
      if (cluster === undefined || stale !== undefined) {
        receipts.push({ state: 'retry', intentId, message: stale ?? 'the cluster was deleted' });
        continue;
      }
      const jobId = (await presentJob(trx, cluster, intentId, at)) ?? (await this.#add(trx, cluster, rendered, now));
      if (jobId === undefined) {
        receipts.push({ state: 'retry', intentId, message: 'the intent is no longer waiting for delivery' });
        continue;
      }
      added = true;
      receipts.push({ state: 'delivered', intentId, mode: 'pull', jobId, stored: true });
    }
    return { receipts, added };
  }

  /** @returns the job's id; undefined when the intent has gone on without it */
  async #add(
    trx: Kysely<Database>,
    cluster: ClusterRow,
    rendered: DeliveryItem,
    now: Date,
  ): Promise<string | undefined> {
    const { randomBytes, jobLifetimeMs = DEFAULT_JOB_LIFETIME_MS } = this.#deps;
    const found = await trx
      .selectFrom('intents')
      .select(['id', 'cluster_id', 'target_kind', 'namespace', 'name', 'generation', 'state'])
      .where('id', '=', rendered.intent.id)
      .executeTakeFirst();
    if (found === undefined) return undefined;
    const { state, ...row } = found;
    const intent = { ...row, delivery_epoch: cluster.delivery_epoch };
    // Once more, for a switch of mode: the intent has its state and its receipt, and the switch has this one.
    const isHandover = state !== 'accepted' && (await handoverOf(trx, intent))?.state === 'pending';
    if (state !== 'accepted' && !isHandover) return undefined;
    const at = now.toISOString();
    const id = newId('job', now, randomBytes);
    const job = queuedJob(rendered, cluster.deliver_intents === 1);
    await insertJob(trx, {
      id,
      cluster_id: cluster.id,
      intent_id: job.intentId,
      kind: job.kind,
      target_kind: job.targetKind,
      namespace: job.namespace,
      name: job.name,
      generation: job.generation,
      delivery_epoch: job.deliveryEpoch,
      idempotency_key: job.idempotencyKey,
      payload: job.payload,
      created_at: at,
      expires_at: new Date(now.getTime() + jobLifetimeMs).toISOString(),
    });
    const receipt = { state: 'delivered', intentId: intent.id, mode: 'pull', jobId: id } as const;
    const inputs = rendered.inputs === undefined ? {} : { render_inputs: JSON.stringify(rendered.inputs) };
    if (isHandover) await storeHandoverReceipt(trx, intent, receipt, at);
    else await storeReceipt(trx, { ...intent, ...inputs }, receipt, at);
    await closeOvertakenJobs(trx, intent, overtakenBy(job), at);
    return id;
  }
}

/** The open job of an intent. One of an older epoch is never offered again: it ends for the one that takes its place. */
async function presentJob(
  trx: Kysely<Database>,
  cluster: ClusterRow,
  intentId: string,
  at: string,
): Promise<string | undefined> {
  let present: string | undefined;
  for (const { id, delivery_epoch: epoch } of await openJobsOf(trx, intentId)) {
    if (epoch === cluster.delivery_epoch) present = id;
    else await closeJob(trx, id, { outcome: 'noop', error: ofOlderEpoch(cluster), applied_ref: null }, at);
  }
  return present;
}

function ofOlderEpoch(cluster: ClusterRow): string {
  return `superseded: the delivery epoch was raised to ${cluster.delivery_epoch}`;
}

function whyNotNow(cluster: ClusterRow | undefined, { target }: DeliveryItem): string | undefined {
  if (cluster === undefined) return 'the cluster was deleted';
  if (cluster.connectivity_mode !== 'pull') return `the cluster is in ${cluster.connectivity_mode} mode now`;
  return cluster.delivery_epoch === target.deliveryEpoch ? undefined : 'the delivery epoch of the cluster was raised';
}

/** `error` of a job that the operator had not acknowledged when a newer one of its object came. */
function overtakenBy({ generation }: Pick<JobRow, 'generation'>): string {
  return `superseded by generation ${generation}, which was delivered before this job was acknowledged`;
}
