import { AppError } from '../protocol/app-error.ts';
import type { Clock } from '../runtime/clock.ts';
import { CheckThread, type CheckOutcome } from './check-thread.ts';
import type { ValuesCheck } from './values-check.ts';

/** What one check may take. An honest one takes milliseconds. */
export const CHECK_LIMIT_MS = 1000;
const THREADS = 2;
/** Checks that wait: of one organization, and of all. Each holds up to 2 MiB. */
const MAX_WAITING_OF_ONE = 16;
const MAX_WAITING = 64;

interface Waiting {
  readonly text: string;
  readonly begin: (outcome: Promise<CheckOutcome>) => void;
}

export interface ValuesCheckerDeps {
  readonly clock: Clock;
  /** 1000 by default */
  readonly limitMs?: number;
}

/**
 * Judges values by the schemas of catalog entries apart from the event loop: an admin may write any schema, and one regular
 * expression can take longer than anybody lives. Organizations take turns and have one check at a time each, so one with
 * such a schema holds up none of the others.
 */
export class ValuesChecker implements AsyncDisposable {
  readonly #free: CheckThread[];
  readonly #threads: readonly CheckThread[];
  /** By organization, in the order of their turns. */
  readonly #waiting = new Map<string, Waiting[]>();
  readonly #running = new Set<string>();
  #closed = false;

  constructor({ clock, limitMs = CHECK_LIMIT_MS }: ValuesCheckerDeps) {
    this.#threads = Array.from({ length: THREADS }, () => new CheckThread({ clock, limitMs }));
    this.#free = [...this.#threads];
  }

  /**
   * @param text a `ValuesCheck` as JSON
   * @throws AppError `unavailable` when too many wait
   */
  async check(organizationId: string, text: string): Promise<CheckOutcome> {
    const queue = this.#waiting.get(organizationId) ?? [];
    const all = [...this.#waiting.values()].reduce((sum, { length }) => sum + length, 0);
    if (this.#closed || queue.length >= MAX_WAITING_OF_ONE || all >= MAX_WAITING) {
      const message = 'too many values wait to be checked by their valuesSchema; try again';
      throw new AppError('unavailable', message, { retryAfterSeconds: 1 });
    }
    const { promise, resolve } = Promise.withResolvers<CheckOutcome>();
    queue.push({ text, begin: resolve });
    this.#waiting.set(organizationId, queue);
    this.#fill();
    return await promise;
  }

  /** What runs is ended, and what waits is refused. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed = true;
    for (const { begin } of [...this.#waiting.values()].flat()) begin(Promise.reject(closing()));
    this.#waiting.clear();
    await Promise.all(this.#threads.map(async (thread) => await thread[Symbol.asyncDispose]()));
  }

  #fill(): void {
    for (const [organizationId, queue] of this.#waiting) {
      if (this.#running.has(organizationId)) continue;
      const thread = this.#free.pop();
      if (thread === undefined) return;
      const next = queue.shift();
      // Its next turn comes after everybody else's.
      this.#waiting.delete(organizationId);
      if (queue.length > 0) this.#waiting.set(organizationId, queue);
      this.#running.add(organizationId);
      next?.begin(this.#run(thread, organizationId, next.text));
    }
  }

  async #run(thread: CheckThread, organizationId: string, text: string): Promise<CheckOutcome> {
    try {
      const outcome = await thread.judge(text);
      if (this.#closed) throw closing();
      return outcome;
    } finally {
      this.#running.delete(organizationId);
      this.#free.push(thread);
      this.#fill();
    }
  }
}

/** The text of a check, which is also what it is the same by. */
export function checkText(check: ValuesCheck): string {
  return JSON.stringify(check);
}

function closing(): AppError {
  return new AppError('unavailable', 'the server is restarting; try again', { retryAfterSeconds: 1 });
}
