import type { WorkQueue } from './store/delivery-queue.ts';

/** Repositories written to at once. */
const MAX_REPOSITORIES = 64;
/**
 * API servers written to at once. One that hangs costs a waiting request; what is done at once over the fleet is bounded by
 * `PushSlots`. Of these places those whose last try failed take a part at most, so that whoever works always finds one.
 */
const MAX_API_SERVERS = 512;
const MAX_FAILING_API_SERVERS = 128;

interface Taken {
  readonly mode: WorkQueue['mode'];
  readonly isFailing: boolean;
}

/**
 * Which queues are worked on at once. Each mode has places of its own: what hangs in one costs the others nothing. Jobs go
 * to the database alone and need none.
 */
export class DeliveryPlaces {
  readonly #taken = new Map<string, Taken>();

  /** @returns whether there was a place */
  take(key: string, { mode }: WorkQueue, isFailing: boolean): boolean {
    const same = [...this.#taken.values()].filter((taken) => taken.mode === mode);
    if (mode === 'gitops' && same.length >= MAX_REPOSITORIES) return false;
    if (mode === 'push' && same.length >= MAX_API_SERVERS) return false;
    if (mode === 'push' && isFailing && same.filter((taken) => taken.isFailing).length >= MAX_FAILING_API_SERVERS) {
      return false;
    }
    this.#taken.set(key, { mode, isFailing });
    return true;
  }

  leave(key: string): void {
    this.#taken.delete(key);
  }
}
