/** Requests to one API server at once. */
const AT_ONCE = 8;

/** Results in the order of the items; rejects with the first fault, after which nothing new is begun. */
export async function eachBounded<T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  const left = items.entries();
  let failed = false;
  const worker = async (): Promise<void> => {
    for (const [index, item] of left) {
      if (failed) return;
      try {
        results[index] = await work(item);
      } catch (error) {
        failed = true;
        throw error;
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(AT_ONCE, items.length) }, worker));
  return results;
}
