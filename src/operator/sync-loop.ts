import type { DesiredSet, Source } from '../delivery/delivery.ts';
import type { ApplyLoop } from '../reconcile/apply-loop.ts';
import type { ApplyReport } from '../reconcile/apply-report.ts';
import { backoffMs } from '../runtime/backoff.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Logger } from '../runtime/logger.ts';
import { Wake } from '../runtime/wake.ts';

export interface SyncLoopDeps {
  readonly source: Source;
  readonly applyLoop: ApplyLoop;
  readonly clock: Clock;
  readonly random: () => number;
  readonly logger: Logger;
  /** A set was read; it is applied next. */
  readonly onRead: (set: DesiredSet) => void;
  readonly onReport: (report: ApplyReport, set: DesiredSet) => void;
}

const RETRY = { minMs: 1000, maxMs: 60_000 };
const SOURCE_RETRY = { minMs: 1000, maxMs: 60_000 };

/**
 * source ──► the newest set ──► apply ──► report; the same set again with growing waits as long as some item may go through
 * later, and at once when what is allowed changes. A newer set takes the place of one that waits.
 */
export class SyncLoop {
  readonly #deps: SyncLoopDeps;
  readonly #wake = new Wake();
  #newest: DesiredSet | undefined;

  constructor(deps: SyncLoopDeps) {
    this.#deps = deps;
  }

  /** What is allowed changed: the present set is applied again. */
  policyChanged(): void {
    this.#wake.ring();
  }

  /** The source is not the cluster's any more: nothing of it is applied again. */
  forget(): void {
    this.#newest = undefined;
  }

  /** Runs until aborted. */
  async run(signal: AbortSignal): Promise<void> {
    await Promise.all([this.#follow(signal), this.#applyNewest(signal)]);
  }

  async #follow(signal: AbortSignal): Promise<void> {
    for (let failures = 1; !signal.aborted; failures += 1) {
      try {
        for await (const set of this.#deps.source.desired(signal)) {
          // A set that brings only faults says nothing of what was wanted before: that is not forgotten.
          this.#newest = set;
          this.#deps.onRead(set);
          this.#wake.ring();
          failures = 1;
        }
      } catch (error) {
        if (signal.aborted) return;
        this.#deps.logger.error({ err: error, failures }, 'the source ended and is started again');
      }
      await this.#deps.clock.sleep(backoffMs(SOURCE_RETRY, failures, this.#deps.random), signal).catch(() => undefined);
    }
  }

  async #applyNewest(signal: AbortSignal): Promise<void> {
    let failures = 0;
    while (!signal.aborted) {
      try {
        const wait = failures === 0 ? undefined : backoffMs(RETRY, failures, this.#deps.random);
        const rung =
          wait === undefined ? await this.#rung(signal) : await this.#wake.waitAtMost(wait, this.#deps.clock, signal);
        if (rung === 'rung') failures = 0;
        const set = this.#newest;
        if (set === undefined) continue;
        const report = await this.#deps.applyLoop.apply(set, signal);
        failures = report.retryable ? failures + 1 : 0;
        this.#deps.onReport(report, set);
        for (const [key, outcome] of report.outcomes) await this.#deps.source.settle(key, outcome);
      } catch (error) {
        if (signal.aborted) return;
        failures += 1;
        this.#deps.logger.error({ err: error }, 'the desired set could not be applied');
      }
    }
  }

  async #rung(signal: AbortSignal): Promise<'rung'> {
    await this.#wake.wait(signal);
    return 'rung';
  }
}
