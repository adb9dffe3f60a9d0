/** Runs until aborted or until one loop ends by a fault, which ends the others too, so that nothing runs half. */
export async function runLoops(
  loops: Readonly<Record<string, (signal: AbortSignal) => Promise<void>>>,
  signal: AbortSignal,
): Promise<PromiseSettledResult<void>[]> {
  const stop = new AbortController();
  const either = AbortSignal.any([signal, stop.signal]);
  const ends = Object.entries(loops).map(async ([name, loop]) => {
    try {
      await loop(either);
    } catch (error) {
      if (either.aborted) return;
      stop.abort();
      throw new Error(`the ${name} loop failed`, { cause: error });
    }
  });
  return Promise.allSettled(ends);
}
