import type { Delivery, DeliveryItem, Probe, Receipt } from '../delivery.ts';

/** Where jobs wait until the cluster asks for them. */
export interface JobQueue {
  /** Whether the cluster may be given jobs. */
  probe(clusterId: string): Promise<Probe>;
  /**
   * Puts a job into the cluster's queue for each intent that has none, in one durable write that stores the receipts too:
   * there is no moment at which a job is there and its intent does not know of it.
   *
   * @returns one receipt an intent
   */
  put(clusterId: string, batch: readonly DeliveryItem[]): Promise<readonly Receipt[]>;
}

/** Delivers intents as jobs of one cluster. It holds nothing of its own, so that one can be made for each of thousands. */
export class PullDelivery implements Delivery {
  readonly #queue: JobQueue;
  readonly #clusterId: string;

  constructor(queue: JobQueue, clusterId: string) {
    this.#queue = queue;
    this.#clusterId = clusterId;
  }

  async probe(signal: AbortSignal): Promise<Probe> {
    signal.throwIfAborted();
    return await this.#queue.probe(this.#clusterId);
  }

  async *deliver(batch: readonly DeliveryItem[], signal: AbortSignal): AsyncGenerator<Receipt, void, undefined> {
    signal.throwIfAborted();
    yield* await this.#queue.put(this.#clusterId, batch);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // The queue is the store's.
  }
}
