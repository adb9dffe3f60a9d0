import type { Clock } from '../runtime/clock.ts';

/**
 * Takes a turn, waits, takes the next, until aborted. A turn that fails is told and the next one is taken all the same.
 *
 * @param deps.onError not called for a fault that comes of stopping
 */
export async function repeat(
  deps: { readonly everyMs: number; readonly clock: Clock; readonly onError: (error: unknown) => void },
  turn: () => Promise<void>,
  stop: AbortSignal,
): Promise<void> {
  while (!stop.aborted) {
    try {
      await turn();
    } catch (error) {
      if (!stop.aborted) deps.onError(error);
    }
    await deps.clock.sleep(deps.everyMs, stop).catch((error: unknown) => {
      if (!stop.aborted) throw error;
    });
  }
}
