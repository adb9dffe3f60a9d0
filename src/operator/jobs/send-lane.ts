import { backoffMs } from '../../runtime/backoff.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Logger } from '../../runtime/logger.ts';
import { Wake } from '../../runtime/wake.ts';

/** How one turn of a key ended. */
export type SendOutcome =
  | { readonly state: 'done' }
  /** Try again, not before `afterMs` where that is given. */
  | { readonly state: 'retry'; readonly message: string; readonly afterMs?: number };

export interface SendLaneDeps {
  readonly name: string;
  /** Sends what there is to send for a key. Rejects only when aborted. */
  readonly send: (key: string, signal: AbortSignal) => Promise<SendOutcome>;
  readonly clock: Clock;
  readonly random: () => number;
  readonly logger: Logger;
}

/** Specification, "Errors": exponential backoff with jitter, never faster than once a second. */
const RETRY = { minMs: 1000, maxMs: 30_000 };
const AT_ONCE = 8;

/**
 * One way to the control plane, in the order in which keys came. After a failure the whole lane waits, and then tries one
 * key alone until that gets through: thousands of jobs never call faster than one would.
 */
export class SendLane {
  readonly #deps: SendLaneDeps;
  readonly #wake = new Wake();
  readonly #waiting = new Set<string>();
  readonly #active = new Set<string>();
  #failures = 0;
  /** In milliseconds. */
  #notBefore = 0;

  constructor(deps: SendLaneDeps) {
    this.#deps = deps;
  }

  add(key: string): void {
    this.#waiting.add(key);
    this.#wake.ring();
  }

  /** Runs until aborted. */
  async run(signal: AbortSignal): Promise<void> {
    const running = new Set<Promise<void>>();
    while (!signal.aborted) {
      const key = this.#next();
      if (key === undefined) {
        await this.#idle(signal).catch(() => undefined);
        continue;
      }
      this.#waiting.delete(key);
      this.#active.add(key);
      const turn: Promise<void> = this.#turn(key, signal).finally(() => {
        running.delete(turn);
        this.#active.delete(key);
        this.#wake.ring();
      });
      running.add(turn);
    }
    await Promise.all(running);
  }

  /** One key is sent by one turn at a time, so that what is sent for it keeps its order. */
  #next(): string | undefined {
    const isFailing = this.#failures > 0;
    if (this.#active.size >= (isFailing ? 1 : AT_ONCE)) return undefined;
    if (isFailing && this.#left() > 0) return undefined;
    for (const key of this.#waiting) if (!this.#active.has(key)) return key;
    return undefined;
  }

  async #idle(signal: AbortSignal): Promise<void> {
    const left = this.#left();
    if (left > 0 && this.#waiting.size > 0) await this.#wake.waitAtMost(left, this.#deps.clock, signal);
    else await this.#wake.wait(signal);
  }

  #left(): number {
    return this.#notBefore - this.#deps.clock.now().getTime();
  }

  async #turn(key: string, signal: AbortSignal): Promise<void> {
    const { name, clock, random, logger } = this.#deps;
    try {
      const outcome = await this.#deps.send(key, signal);
      if (outcome.state === 'done') {
        this.#failures = 0;
        this.#notBefore = 0;
        return;
      }
      this.#failures += 1;
      const wait = Math.max(outcome.afterMs ?? 0, backoffMs(RETRY, this.#failures, random));
      this.#notBefore = Math.max(this.#notBefore, clock.now().getTime() + wait);
      logger.debug({ lane: name, key, wait, message: outcome.message }, 'what was to be sent is kept and sent again');
    } catch (error) {
      if (signal.aborted) return;
      this.#failures += 1;
      this.#notBefore = clock.now().getTime() + backoffMs(RETRY, this.#failures, random);
      logger.error({ err: error, lane: name, key }, 'sending failed; it is tried again');
    }
    this.#putFirst(key);
  }

  /** What failed goes first again: it has waited longest. */
  #putFirst(key: string): void {
    const rest = [...this.#waiting].filter((other) => other !== key);
    this.#waiting.clear();
    for (const each of [key, ...rest]) this.#waiting.add(each);
  }
}
