/**
 * Works on several lanes at once, each from its beginning to its end, and yields what they come to as soon as it is there.
 * What one of them rejects with ends them all; nothing runs on once the caller has left.
 */
export async function* inLanes<L, T>(
  width: number,
  lanes: readonly L[],
  work: (lane: L, take: (result: T) => void) => Promise<void>,
): AsyncGenerator<T, void, undefined> {
  const waiting = [...lanes];
  const results: T[] = [];
  let wake = Promise.withResolvers<void>();
  let running = 0;
  const take = (result: T): void => {
    results.push(result);
    wake.resolve();
  };
  const run = async (): Promise<void> => {
    try {
      for (let lane = waiting.shift(); lane !== undefined; lane = waiting.shift()) await work(lane, take);
    } finally {
      running -= 1;
      wake.resolve();
    }
  };
  const runs = Array.from({ length: Math.min(width, lanes.length) }, async () => {
    running += 1;
    return await run();
  });
  const all = Promise.all(runs);
  // Looked at below; until then a rejection has a handler.
  all.catch(() => undefined);
  try {
    for (;;) {
      yield* results.splice(0);
      if (running === 0) break;
      await wake.promise;
      wake = Promise.withResolvers<void>();
    }
    yield* results.splice(0);
    await all;
  } finally {
    waiting.length = 0;
    await Promise.allSettled(runs);
  }
}
