import { askedWaitMs, backoffMs } from '../../runtime/backoff.ts';
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

/** So many keys failed and none got through: it is the control plane that takes nothing, and not one job that is at fault. */
const OUTAGE = 2;

/**
 * One way to the control plane, in the order in which keys came. A key that fails waits longer each time, and the others go
 * on. Where several fail and none gets through the whole lane waits, and tries one key alone until that gets through: a hundred jobs
 * never call faster than one would.
 */
export class SendLane {
  readonly #deps: SendLaneDeps;
  readonly #wake = new Wake();
  readonly #waiting = new Set<string>();
  readonly #active = new Set<string>();
  readonly #failing = new Map<string, { readonly failures: number; readonly notBefore: number }>();
  /** Since something got through last. */
  readonly #failed = new Set<string>();
  #failures = 0;
  /** Of the whole lane, in milliseconds. */
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
    const now = this.#deps.clock.now().getTime();
    if (this.#active.size >= (this.#failed.size >= OUTAGE ? 1 : AT_ONCE) || this.#notBefore > now) return undefined;
    for (const key of this.#waiting) {
      if (!this.#active.has(key) && (this.#failing.get(key)?.notBefore ?? 0) <= now) return key;
    }
    return undefined;
  }

  async #idle(signal: AbortSignal): Promise<void> {
    const now = this.#deps.clock.now().getTime();
    const due = [...this.#waiting].map(
      (key) => Math.max(this.#notBefore, this.#failing.get(key)?.notBefore ?? 0) - now,
    );
    const left = Math.min(...due.filter((ms) => ms > 0));
    if (left === Infinity) await this.#wake.wait(signal);
    else await this.#wake.waitAtMost(left, this.#deps.clock, signal);
  }

  async #turn(key: string, signal: AbortSignal): Promise<void> {
    const { name, logger } = this.#deps;
    try {
      const outcome = await this.#deps.send(key, signal);
      if (outcome.state === 'done') {
        this.#failing.delete(key);
        this.#failed.clear();
        this.#failures = 0;
        this.#notBefore = 0;
        return;
      }
      this.#tryLater(key, outcome.afterMs);
      logger.debug({ lane: name, key, message: outcome.message }, 'what was to be sent is kept and sent again');
    } catch (error) {
      if (signal.aborted) return;
      this.#tryLater(key);
      logger.error({ err: error, lane: name, key }, 'sending failed; it is tried again');
    }
  }

  /** @param askedMs `Retry-After`, which is about everything that is sent this way */
  #tryLater(key: string, askedMs?: number): void {
    const { clock, random } = this.#deps;
    const now = clock.now().getTime();
    const failures = (this.#failing.get(key)?.failures ?? 0) + 1;
    this.#failing.set(key, { failures, notBefore: now + backoffMs(RETRY, failures, random) });
    this.#failed.add(key);
    this.#failures += 1;
    const laneMs = this.#failed.size >= OUTAGE ? backoffMs(RETRY, this.#failures, random) : 0;
    this.#notBefore = Math.max(this.#notBefore, now + askedWaitMs(askedMs, laneMs, random));
    this.#waiting.add(key);
  }
}
