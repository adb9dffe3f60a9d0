const COUNT = /^\d{1,15}$/;

/** Whether a configuration's revision is lower than one that was taken before: they only ever grow, but for a restore. */
export function wentBack(before: string | undefined, now: string | undefined): boolean {
  if (before === undefined || now === undefined || !COUNT.test(before) || !COUNT.test(now)) return false;
  return Number(now) < Number(before);
}
