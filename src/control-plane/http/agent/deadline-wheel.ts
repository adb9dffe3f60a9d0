import type { Clock } from '../../../runtime/clock.ts';

/** Deadlines are rounded up to this, so that thousands of them take a few wake-ups a second. */
const SLOT_MS = 250;

/** What waits for a deadline. */
export interface Expiring {
  /** The deadline has passed. Must not throw. */
  expire(): void;
}

/** One timer for any number of deadlines: a held request costs an entry in a set. */
export class DeadlineWheel implements Disposable {
  readonly #clock: Clock;
  readonly #slots = new Map<number, Set<Expiring>>();
  #turning: { readonly until: number; readonly stop: AbortController } | undefined;

  constructor(deps: { readonly clock: Clock }) {
    this.#clock = deps.clock;
  }

  /** @returns the slot, to be given back to `remove` */
  add(atMs: number, entry: Expiring): number {
    const slot = Math.ceil(atMs / SLOT_MS);
    const entries = this.#slots.get(slot);
    if (entries === undefined) this.#slots.set(slot, new Set([entry]));
    else entries.add(entry);
    if (this.#turning === undefined || slot < this.#turning.until) this.#turn();
    return slot;
  }

  /** Takes back what has not expired. */
  remove(slot: number, entry: Expiring): void {
    const entries = this.#slots.get(slot);
    entries?.delete(entry);
    if (entries?.size !== 0) return;
    this.#slots.delete(slot);
    if (this.#slots.size === 0) this[Symbol.dispose]();
  }

  [Symbol.dispose](): void {
    this.#turning?.stop.abort();
    this.#turning = undefined;
  }

  /** Sleeps until the earliest slot. */
  #turn(): void {
    this[Symbol.dispose]();
    if (this.#slots.size === 0) return;
    let earliest = Infinity;
    for (const slot of this.#slots.keys()) earliest = Math.min(earliest, slot);
    const turning = { until: earliest, stop: new AbortController() };
    this.#turning = turning;
    const left = Math.max(0, earliest * SLOT_MS - this.#clock.now().getTime());
    this.#clock.sleep(left, turning.stop.signal).then(
      () => {
        if (this.#turning === turning) this.#expire();
      },
      () => undefined,
    );
  }

  #expire(): void {
    const now = this.#clock.now().getTime();
    for (const [slot, entries] of this.#slots) {
      if (slot * SLOT_MS > now) continue;
      this.#slots.delete(slot);
      for (const entry of entries) entry.expire();
    }
    this.#turn();
  }
}
