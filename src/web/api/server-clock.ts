/** Smaller ones are how long the answer took, and that its `Date` has whole seconds. */
const LEAST_MS = 5000;

let ahead = 0;

/** The present moment as the control plane has it: its times are not compared with a clock of a browser that is wrong. */
export const serverClock = {
  now: (): number => Date.now() + ahead,

  /** @param date the header `Date` of an answer that was asked for at `began` */
  learn: (date: string | null, began: number): void => {
    const ended = Date.now();
    const told = Date.parse(date ?? '');
    // An answer that took longer says less than those before it.
    if (Number.isNaN(told) || ended - began > LEAST_MS || ended < began) return;
    const difference = told + 500 - (began + ended) / 2;
    ahead = Math.abs(difference) < LEAST_MS ? 0 : Math.round(difference);
  },
};
