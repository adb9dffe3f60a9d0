import { systemClock, type Clock } from '../../src/runtime/clock.ts';

/** How often the control plane looks at its repositories. */
const LOOK_EVERY_MS = 30_000;

/** Real time, but for the pauses between two looks: they end when the test says so. */
export class LookingClock implements Clock {
  readonly #pauses = new Set<() => void>();

  now(): Date {
    return systemClock.now();
  }

  async sleep(ms: number, signal?: AbortSignal): Promise<void> {
    if (ms !== LOOK_EVERY_MS) return await systemClock.sleep(ms, signal);
    const stop = new AbortController();
    const end = (): void => stop.abort();
    this.#pauses.add(end);
    const stopped = AbortSignal.any([stop.signal, ...(signal === undefined ? [] : [signal])]);
    await systemClock.sleep(3_600_000, stopped).catch(() => signal?.throwIfAborted());
    this.#pauses.delete(end);
  }

  look(): void {
    for (const end of this.#pauses) end();
  }
}
