import type { Receipt } from '../delivery/delivery.ts';
import type { Clock } from '../runtime/clock.ts';
import { gitSettingsOf } from './git/git-settings.ts';
import type { QueuedIntent } from './store/delivery-queue.ts';
import type { Held } from './store/exclusive.ts';
import type { Store } from './store/open-store.ts';
import { takeReceipt } from './proposals/take-receipt.ts';
import { APPROVALS_TOPIC, configTopic, DELIVERY_TOPIC, MODES_TOPIC, PROPOSALS_TOPIC } from './topics.ts';
import type { Wakeups } from './wakeups.ts';

export type FinalReceipt = Exclude<Receipt, { state: 'retry' }>;

interface Taken {
  readonly intent: QueuedIntent;
  readonly receipt: FinalReceipt;
}

/**
 * Stores the receipts of one batch in the order in which they came, since the last one about a cluster says what its
 * directory holds: those that come while a write is under way go together with the next.
 */
export class ReceiptWriter {
  readonly #deps: {
    readonly store: Store;
    readonly wakeups: Wakeups;
    readonly clock: Clock;
    readonly held: Held;
    readonly onStored: (intent: QueuedIntent, receipt: FinalReceipt) => void;
  };
  #waiting: Taken[] = [];
  #writing: Promise<void> = Promise.resolve();
  #failure: unknown;

  constructor(deps: {
    readonly store: Store;
    readonly wakeups: Wakeups;
    readonly clock: Clock;
    /** What the batch is delivered under. */
    readonly held: Held;
    readonly onStored: (intent: QueuedIntent, receipt: FinalReceipt) => void;
  }) {
    this.#deps = deps;
  }

  take(intent: QueuedIntent, receipt: FinalReceipt): void {
    this.#waiting.push({ intent, receipt });
    if (this.#waiting.length > 1) return;
    this.#writing = this.#writing.then(async () => await this.#write());
  }

  /** @throws what kept receipts from being stored; their intents are delivered again and recognised */
  async stored(): Promise<void> {
    await this.#writing;
    if (this.#failure !== undefined) throw this.#failure;
  }

  async #write(): Promise<void> {
    const { store, wakeups, clock, held, onStored } = this.#deps;
    const taken = this.#waiting;
    this.#waiting = [];
    try {
      const { changed, stored } = await store.write(async (trx) => {
        await held.fence(trx);
        const clusters = new Set<string>();
        const some: Taken[] = [];
        for (const one of taken) {
          const became = await takeReceipt(trx, one.intent, one.receipt, clock.now());
          if (became === 'config changed') clusters.add(one.intent.cluster_id);
          if (became !== 'past') some.push(one);
        }
        return { changed: clusters, stored: some };
      });
      for (const clusterId of changed) wakeups.notify(configTopic(clusterId));
      // Branches and requests of what was proposed, merged or closed.
      if (stored.some(isUnderReview)) {
        wakeups.notify(PROPOSALS_TOPIC);
        wakeups.notify(APPROVALS_TOPIC);
      }
      if (stored.some(({ intent }) => intent.handover !== null)) wakeups.notify(MODES_TOPIC);
      // What was taken before a fence is to be brought by another way.
      if (stored.length < taken.length) wakeups.notify(DELIVERY_TOPIC);
      for (const { intent, receipt } of stored) onStored(intent, receipt);
    } catch (error) {
      this.#failure ??= error;
    }
  }
}

function isUnderReview({ intent, receipt }: Taken): boolean {
  return receipt.state === 'proposed' || receipt.state === 'moved' || gitSettingsOf(intent).review === 'proposal';
}
