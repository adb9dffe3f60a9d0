/** Whether the effect that a program ends at took place, as seen from outside. */
export type Moment = 'before' | 'after';

export interface Kill {
  /** The n-th effect from when it is armed, from 1. */
  readonly at: number;
  readonly moment: Moment;
}

/** What every effect of a program that has ended is answered with. */
export class Killed extends Error {
  constructor() {
    super('the program was killed');
  }
}

/** Counts the effects of one program, and says at which of them it ends. */
export class KillPoints {
  #count = 0;
  #armed: readonly { readonly count: number; readonly moment: Moment }[] = [];

  /** All effects until now. */
  get count(): number {
    return this.#count;
  }

  arm(kills: readonly Kill[]): void {
    const from = this.#count;
    this.#armed = kills.map(({ at, moment }) => ({ count: from + at, moment }));
  }

  /** Counts one effect; the moment at which it ends the program, if it does. */
  next(): Moment | undefined {
    this.#count += 1;
    return this.#armed.find(({ count }) => count === this.#count)?.moment;
  }
}
