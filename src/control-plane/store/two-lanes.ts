/** After this many urgent ones in a row an ordinary one has its turn, so that neither lane can starve the other. */
const URGENT_IN_A_ROW = 8;

/**
 * What waits for the database, in two lanes, each first come, first served. Small writes that a cluster waits for (an ack)
 * go before large ones that can wait (a post of events).
 */
export class TwoLanes<T> {
  readonly #max: number;
  readonly #urgent: T[] = [];
  readonly #ordinary: T[] = [];
  #inARow = 0;

  /** @param max that may wait, in each lane */
  constructor(max: number) {
    this.#max = max;
  }

  get length(): number {
    return this.#urgent.length + this.#ordinary.length;
  }

  isFull(urgent: boolean): boolean {
    return (urgent ? this.#urgent : this.#ordinary).length >= this.#max;
  }

  push(item: T, urgent: boolean): void {
    (urgent ? this.#urgent : this.#ordinary).push(item);
  }

  shift(): T | undefined {
    const ordinaryIsDue = this.#inARow >= URGENT_IN_A_ROW && this.#ordinary.length > 0;
    if (this.#urgent.length === 0 || ordinaryIsDue) {
      this.#inARow = 0;
      return this.#ordinary.shift();
    }
    this.#inARow += 1;
    return this.#urgent.shift();
  }

  /** Empties both. */
  takeAll(): T[] {
    return [...this.#urgent.splice(0), ...this.#ordinary.splice(0)];
  }
}
