import type { Delivery, DeliveryItem, Receipt } from '../delivery/delivery.ts';
import type { Rendered } from '../intent/rendered.ts';
import type { DeliveryTarget } from '../delivery/select-delivery.ts';
import type { Logger } from '../runtime/logger.ts';
import { holdUnapproved } from './approvals/hold-unapproved.ts';
import { byTarget } from './by-target.ts';
import { DeliveryPlaces } from './delivery-places.ts';
import { numberOn } from './jobs/number-on.ts';
import { withReviews } from './proposals/review-of-queued.ts';
import { measured, measureReceipt, type DeliveryMeasuring } from './metrics/measure-delivery.ts';
import { ReceiptWriter, type FinalReceipt } from './receipt-writer.ts';
import { renderQueued } from './render-queued.ts';
import {
  deliveryLock,
  memberOf,
  nextBatch,
  queuesWithWork,
  workQueueKey,
  type QueuedIntent,
  type WorkQueue,
} from './store/delivery-queue.ts';
import { withExclusive, type Held } from './store/exclusive.ts';
import { noteHeldUp } from './store/mode-handovers.ts';
import type { Store } from './store/open-store.ts';
import { storeWaitingReasons } from './store/waiting-reasons.ts';
import { TargetStates } from './target-states.ts';
import { DELIVERY_TOPIC } from './topics.ts';
import type { Wakeups } from './wakeups.ts';

/** Looks for work without being told, so that a lost wake-up costs time and never an intent. */
const SWEEP_MS = 30_000;
const MAX_BATCH = 200;
/**
 * In a burst, for more to come before the next push of the same repository: few pushes then carry what otherwise takes
 * many, and whoever comes alone waits for nobody.
 */
const GATHER_MS = 200;
/** One batch, however slow its target is. */
const BATCH_TIMEOUT_MS = 5 * 60_000;
/** For a batch in flight when the program ends. A batch that is cut off is delivered again and recognised. */
const DRAIN_MS = 5000;

/** What became of a batch. */
interface BatchEnd {
  /** Why some of it must be tried again, if so. */
  readonly unfinished: string | undefined;
  /** Members (clusters; in push mode objects) with intents that must be tried again, and those with none. */
  readonly failed: readonly string[];
  readonly done: readonly string[];
  /** The target works: what failed waits alone. */
  readonly isAlone: boolean;
}

export interface DeliveryLoopDeps extends DeliveryMeasuring {
  readonly store: Store;
  readonly wakeups: Wakeups;
  readonly random: () => number;
  readonly logger: Logger;
  /** The transport to a target. Asked for before each batch; whoever answers keeps it and disposes it. */
  readonly open: (target: DeliveryTarget) => Promise<Delivery>;
  /** Puts the control plane's signature into what is delivered. */
  readonly sign: (rendered: Rendered) => Promise<Rendered>;
}

/**
 * Delivers accepted intents. What there is to do is read from the database each time; a wake-up only says "look":
 *
 * ```
 * accepted ──► batch of its target ──► delivered   (receipt, desired revision, `/config` woken)
 *                │    │   │    └─────► failed      (refused for good, with the reason)
 *                │    │   └──────────► proposed    (on a branch of its own; accepted again once it is to be merged)
 *                │    └── retry ─────► accepted    (after a backoff of that target alone)
 *                └── crash ──────────► accepted    (delivered again; the transport recognises what is there)
 * ```
 *
 * One batch is in flight per target, whichever replica delivers it, and targets do not wait for each other.
 */
export class DeliveryLoop {
  readonly #deps: DeliveryLoopDeps;
  readonly #targets: TargetStates;
  readonly #active = new Map<string, Promise<void>>();
  readonly #places = new DeliveryPlaces();

  constructor(deps: DeliveryLoopDeps) {
    this.#deps = deps;
    this.#targets = new TargetStates(deps);
  }

  /** Runs until aborted, then gives the batches in flight a few seconds. */
  async run(stop: AbortSignal): Promise<void> {
    const { clock, wakeups, logger } = this.#deps;
    const cut = new AbortController();
    while (!stop.aborted) {
      const seen = wakeups.version(DELIVERY_TOPIC);
      let waitMs = SWEEP_MS;
      try {
        waitMs = await this.#start(stop, cut.signal);
      } catch (error) {
        logger.error({ err: error }, 'looking for intents to deliver failed; trying again');
        waitMs = 1000;
      }
      await wakeups.waitFor(DELIVERY_TOPIC, seen, stop, waitMs).catch(rethrowUnless(stop));
    }
    const drained = new AbortController();
    const deadline = clock.sleep(DRAIN_MS, drained.signal).then(
      () => cut.abort(new Error('the control plane is stopping')),
      () => undefined,
    );
    await Promise.all(this.#active.values());
    drained.abort();
    await deadline;
  }

  /** Whether a batch of a queue is in flight, here or at another replica. */
  async isDelivering(queue: WorkQueue): Promise<boolean> {
    const key = workQueueKey(queue);
    if (this.#active.has(key)) return true;
    return !(await withExclusive(this.#deps.store, deliveryLock(key), async () => undefined)).granted;
  }

  /** Starts a batch for each idle target with work. Answers how long to wait for the next one that is due. */
  async #start(stop: AbortSignal, cut: AbortSignal): Promise<number> {
    const { store } = this.#deps;
    const queues = new Map((await queuesWithWork(store.db)).map((queue) => [workQueueKey(queue), queue]));
    this.#targets.keepOnly(new Set(queues.keys()));
    let waitMs = SWEEP_MS;
    for (const [key, queue] of queues) {
      if (this.#active.has(key)) continue;
      const due = this.#targets.waitOf(key);
      if (due > 0) {
        waitMs = Math.min(waitMs, due);
        continue;
      }
      const waiting = this.#targets.waitingMembers(key);
      // All that waits may be of those who wait alone.
      if (waiting.members.length > 0 && (await nextBatch(store.db, queue, 1, waiting.members)).length === 0) {
        waitMs = Math.min(waitMs, waiting.waitMs);
        continue;
      }
      // Whoever leaves a place wakes this loop.
      if (!this.#places.take(key, queue, this.#targets.isFailing(key))) continue;
      const work = this.#work(key, queue, stop, cut).finally(() => {
        this.#active.delete(key);
        this.#places.leave(key);
        // What was accepted while the last batch was in flight, or a backoff to wait for.
        this.#deps.wakeups.wake(DELIVERY_TOPIC);
      });
      this.#active.set(key, work);
    }
    return waitMs;
  }

  /** Batches of one target until it has no more work or fails. Never rejects. */
  async #work(key: string, queue: WorkQueue, stop: AbortSignal, cut: AbortSignal): Promise<void> {
    const { store } = this.#deps;
    try {
      const turn = await withExclusive(store, deliveryLock(key), async (held) => {
        for (let before = 0; !stop.aborted;) {
          const take = async (limit: number): Promise<QueuedIntent[]> =>
            await nextBatch(store.db, queue, limit, this.#targets.waitingMembers(key).members);
          if (isBurst(queue, before) && (await take(1)).length > 0) {
            await this.#deps.clock.sleep(GATHER_MS, stop).catch(rethrowUnless(stop));
          }
          const batch = await take(MAX_BATCH);
          if (batch.length === 0) return;
          before = batch.length;
          const { unfinished, failed, done, isAlone } = await this.#deliver(queue, batch, cut, held);
          for (const member of done) this.#targets.memberSucceeded(key, member);
          if (unfinished === undefined) {
            this.#targets.succeeded(key);
            continue;
          }
          if (isAlone) {
            this.#targets.succeeded(key);
            for (const member of failed) this.#targets.memberFailed(key, member);
            this.#deps.logger.warn({ queue: key, waiting: failed.length, why: unfinished }, 'intents not delivered');
            continue;
          }
          const retryInMs = this.#targets.failed(key);
          this.#deps.logger.warn({ queue: key, retryInMs, why: unfinished }, 'intents not delivered; trying again');
          return;
        }
      });
      if (!turn.granted) this.#targets.elsewhere(key);
    } catch (error) {
      if (cut.aborted) return;
      const retryInMs = this.#targets.failed(key);
      this.#deps.logger.error({ err: error, queue: key, retryInMs }, 'delivery failed; trying again');
    }
  }

  /** Delivers a batch and stores its receipts. */
  async #deliver(queue: WorkQueue, batch: readonly QueuedIntent[], cut: AbortSignal, held: Held): Promise<BatchEnd> {
    const { store, wakeups, clock } = this.#deps;
    // Restored from a backup: they come again with another number, or not at all.
    const numberedOn = await numberOn(
      store,
      batch.map(({ id }) => id),
      clock.now().toISOString(),
    );
    const unapproved = numberedOn.length > 0 ? [] : await holdUnapproved(this.#deps, batch);
    if (numberedOn.length + unapproved.length > 0)
      return { unfinished: undefined, failed: [], done: [], isAlone: true };
    const { rendered, refused } = await renderQueued(store.db, batch);
    const inputs = new Map(rendered.map((one) => [one.intent.id, JSON.stringify(one.inputs ?? {})]));
    const waiting = new Map(
      batch.map((intent) => [intent.id, { ...intent, render_inputs: inputs.get(intent.id) ?? intent.render_inputs }]),
    );
    let unfinished: string | undefined;
    const alone = new Map<string, string>();
    const said = new Map<string, string>();
    const onStored = (intent: QueuedIntent, receipt: FinalReceipt): void => this.#tell(intent, receipt);
    const receipts = new ReceiptWriter({ store, wakeups, clock, held, onStored });
    const take = (receipt: Receipt): void => {
      const intent = waiting.get(receipt.intentId);
      if (intent === undefined) return;
      if (receipt.state === 'retry') {
        unfinished ??= receipt.message;
        said.set(receipt.intentId, receipt.message);
        if (receipt.alone === true) alone.set(receipt.intentId, receipt.message);
        return;
      }
      waiting.delete(receipt.intentId);
      if (receipt.state === 'delivered' && receipt.stored === true) this.#tell(intent, receipt);
      else receipts.take(intent, receipt);
    };
    try {
      for (const receipt of refused) take(receipt);
      const signal = AbortSignal.any([cut, held.signal, AbortSignal.timeout(BATCH_TIMEOUT_MS)]);
      await Promise.all(
        byTarget(queue, rendered).map(async ({ target, part }) => {
          const delivery = await this.#deps.open(target);
          const items = queue.mode === 'gitops' ? await this.#review(batch, part, held, waiting) : part;
          const signed = await Promise.all(items.map(async (item) => ({ ...item, ...(await this.#deps.sign(item)) })));
          const receipts = delivery.deliver(signed, signal);
          for await (const receipt of measured(this.#deps, queue, receipts)) take(receipt);
        }),
      );
    } finally {
      await receipts.stored();
    }
    await storeWaitingReasons(store, said);
    const why = queue.mode === 'push' ? alone : said;
    if (why.size > 0) await store.write(async (trx) => await noteHeldUp(trx, batch, why));
    const failed = new Set([...waiting.values()].map((intent) => memberOf(queue, intent)));
    const done = new Set(batch.map((intent) => memberOf(queue, intent)).filter((member) => !failed.has(member)));
    return {
      unfinished: waiting.size === 0 ? undefined : (unfinished ?? `${waiting.size} intents got no receipt`),
      failed: [...failed],
      done: [...done],
      // Of a repository: it works for others, or only one cluster says that it does not.
      isAlone: queue.mode === 'push' ? alone.size === waiting.size : done.size > 0 || failed.size === 1,
    };
  }

  /** What is held back after all waits no more in this batch. */
  async #review(
    batch: readonly QueuedIntent[],
    rendered: readonly DeliveryItem[],
    held: Held,
    waiting: Map<string, QueuedIntent>,
  ): Promise<readonly DeliveryItem[]> {
    const { items, heldBack } = await withReviews(this.#deps, batch, rendered, held);
    for (const id of heldBack) waiting.delete(id);
    return items;
  }

  #tell(intent: QueuedIntent, receipt: FinalReceipt): void {
    const { logger } = this.#deps;
    measureReceipt(this.#deps, intent, receipt);
    const about = { intentId: intent.id, clusterId: intent.cluster_id };
    switch (receipt.state) {
      case 'refused':
        logger.warn({ ...about, reason: receipt.reason, message: receipt.message }, 'intent refused');
        break;
      case 'proposed':
        logger.info({ ...about, branch: receipt.branch, head: receipt.head }, 'intent proposed');
        break;
      case 'moved':
        logger.info({ ...about, message: receipt.message }, 'a proposal is rendered again');
        break;
      case 'delivered':
        logger.info({ ...about, commit: receipt.commit, jobId: receipt.jobId }, 'intent delivered');
        break;
    }
  }
}

/** Whether the last batch was of several, and not a full one, which more are waiting behind. A queue of jobs is no push. */
function isBurst(queue: WorkQueue, before: number): boolean {
  return queue.mode === 'gitops' && before > 1 && before < MAX_BATCH;
}

function rethrowUnless(stop: AbortSignal): (error: unknown) => void {
  return (error) => {
    if (!stop.aborted) throw error;
  };
}
