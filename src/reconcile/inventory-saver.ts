import { backoffMs } from '../runtime/backoff.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Logger } from '../runtime/logger.ts';
import { Wake } from '../runtime/wake.ts';
import type { Inventory } from './inventory.ts';

export interface InventorySaverDeps {
  readonly inventory: Pick<Inventory, 'save'>;
  readonly clock: Clock;
  readonly random: () => number;
  readonly logger: Logger;
}

/** A thousand objects that come at once are a handful of writes. */
const TOGETHER_MS = 1000;
const RETRY = { minMs: 1000, maxMs: 60_000 };

/** Writes what becomes known of objects outside of the passes of the apply loop. */
export class InventorySaver {
  readonly #deps: InventorySaverDeps;
  readonly #wake = new Wake();
  #last: Promise<unknown> = Promise.resolve();
  #next: Promise<void> | undefined;

  constructor(deps: InventorySaverDeps) {
    this.#deps = deps;
  }

  /** It is written soon, with what comes until then. */
  changed(): void {
    this.#wake.ring();
  }

  /** Resolves once all that was known at the call is written; callers at the same time share one save. @throws KubeError */
  async saved(signal: AbortSignal): Promise<void> {
    this.#next ??= this.#begin(signal);
    await this.#next;
  }

  /** Runs until aborted. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, random, logger } = this.#deps;
    let failures = 0;
    while (!signal.aborted) {
      try {
        if (failures === 0) await this.#wake.wait(signal);
        await clock.sleep(failures === 0 ? TOGETHER_MS : backoffMs(RETRY, failures, random), signal);
        await this.saved(signal);
        failures = 0;
      } catch (error) {
        if (signal.aborted) return;
        failures += 1;
        logger.warn({ err: error, failures }, 'cannot save the inventory; it is tried again');
      }
    }
  }

  async #begin(signal: AbortSignal): Promise<void> {
    const turn = this.#last.then(async () => {
      this.#next = undefined;
      await this.#deps.inventory.save(signal);
    });
    this.#last = turn.catch(() => undefined);
    await turn;
  }
}
