import { backoffMs } from '../runtime/backoff.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Logger } from '../runtime/logger.ts';
import { KubeError } from './cluster-api.ts';

/** Longer wishes are met early: a timer of more than 24.8 days would ring at once. */
const MAX_WAIT_MS = 24 * 3_600_000;

/** What a worker may ask for: the same key again after so many milliseconds. */
export interface WorkResult {
  readonly requeueAfterMs?: number;
}

export type Worker = (key: string, signal: AbortSignal) => Promise<WorkResult | void>;

export interface WorkQueueDeps {
  /** Names the queue in logs and metrics. */
  readonly name: string;
  readonly clock: Clock;
  readonly random: () => number;
  readonly logger: Logger;
  /** Keys worked on at the same time (default 4). */
  readonly concurrency?: number;
  /** First and longest wait after a failure, in milliseconds (defaults 1,000 and 300,000). */
  readonly minBackoffMs?: number;
  readonly maxBackoffMs?: number;
}

export interface WorkQueueCounts {
  readonly ready: number;
  readonly active: number;
  readonly delayed: number;
  readonly failing: number;
  /** Since the start. */
  readonly done: number;
  readonly failed: number;
}

/**
 * Keys waiting for a worker. One key is worked on by one worker at a time; a key added while it is worked on is worked on
 * once more. A failing key waits longer each time, and is forgotten by its first success. The queue holds each key once,
 * so it is bounded by the number of objects.
 */
export class WorkQueue {
  readonly #deps: WorkQueueDeps;
  readonly #ready = new Set<string>();
  readonly #active = new Set<string>();
  /** Added again while active. */
  readonly #again = new Set<string>();
  readonly #delayed = new Map<string, { readonly due: number; readonly timer: AbortController }>();
  readonly #failures = new Map<string, number>();
  #wake: () => void = () => undefined;
  #stopped = false;
  #done = 0;
  #failed = 0;

  constructor(deps: WorkQueueDeps) {
    this.#deps = deps;
  }

  get counts(): WorkQueueCounts {
    return {
      ready: this.#ready.size,
      active: this.#active.size,
      delayed: this.#delayed.size,
      failing: this.#failures.size,
      done: this.#done,
      failed: this.#failed,
    };
  }

  /** At once; an earlier wish for later is met by it. */
  add(key: string): void {
    if (this.#stopped) return;
    this.#cancelDelay(key);
    if (this.#active.has(key)) this.#again.add(key);
    else this.#ready.add(key);
    this.#wake();
  }

  /** After `ms` milliseconds, or earlier when it was due earlier. */
  addAfter(key: string, ms: number): void {
    if (ms <= 0) {
      this.add(key);
      return;
    }
    const wait = Math.min(ms, MAX_WAIT_MS);
    const due = this.#deps.clock.now().getTime() + wait;
    const waiting = this.#delayed.get(key);
    if (this.#stopped || this.#ready.has(key) || (waiting !== undefined && waiting.due <= due)) return;
    this.#cancelDelay(key);
    const timer = new AbortController();
    this.#delayed.set(key, { due, timer });
    this.#deps.clock.sleep(wait, timer.signal).then(
      () => {
        if (this.#delayed.get(key)?.timer === timer) this.add(key);
      },
      () => undefined,
    );
  }

  /** Resolves when aborted, once the workers that were running have ended. */
  async run(worker: Worker, signal: AbortSignal): Promise<void> {
    const limit = this.#deps.concurrency ?? 4;
    const running = new Set<Promise<void>>();
    const onAbort = (): void => this.#wake();
    signal.addEventListener('abort', onAbort, { once: true });
    while (!signal.aborted) {
      const woken = new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
      for (const key of this.#ready) {
        if (running.size >= limit) break;
        this.#ready.delete(key);
        const work: Promise<void> = this.#work(key, worker, signal).finally(() => {
          running.delete(work);
          this.#wake();
        });
        running.add(work);
      }
      await woken;
    }
    this.#stopped = true;
    for (const key of this.#delayed.keys()) this.#cancelDelay(key);
    await Promise.all(running);
  }

  async #work(key: string, worker: Worker, signal: AbortSignal): Promise<void> {
    this.#active.add(key);
    let after: number | undefined;
    try {
      const result = await worker(key, signal);
      this.#failures.delete(key);
      this.#done += 1;
      after = result?.requeueAfterMs;
    } catch (error) {
      after = this.#afterFailure(key, error, signal);
    }
    this.#active.delete(key);
    if (this.#again.delete(key)) this.add(key);
    else if (after !== undefined) this.addAfter(key, after);
  }

  #afterFailure(key: string, error: unknown, signal: AbortSignal): number | undefined {
    if (signal.aborted) return undefined;
    const failures = (this.#failures.get(key) ?? 0) + 1;
    this.#failures.set(key, failures);
    this.#failed += 1;
    const { minBackoffMs = 1_000, maxBackoffMs = 300_000 } = this.#deps;
    const wait = backoffMs({ minMs: minBackoffMs, maxMs: maxBackoffMs }, failures, this.#deps.random);
    const asked = error instanceof KubeError ? (error.retryAfterSeconds ?? 0) * 1000 : 0;
    const waitMs = Math.min(maxBackoffMs, Math.max(wait, asked));
    this.#deps.logger.warn({ err: error, queue: this.#deps.name, key, failures, waitMs }, 'work failed');
    return waitMs;
  }

  #cancelDelay(key: string): void {
    this.#delayed.get(key)?.timer.abort();
    this.#delayed.delete(key);
  }
}
