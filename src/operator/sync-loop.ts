import type { DesiredSet, Source } from '../delivery/delivery.ts';
import type { ApplyLoop } from '../reconcile/apply-loop.ts';
import type { ApplyReport } from '../reconcile/apply-report.ts';
import { HandEdits } from '../reconcile/hand-edits.ts';
import type { KubeObject } from '../resources/kube-object.ts';
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
  /** The cluster is in the mode that the source is of. What it brings at other times is left. */
  readonly isWanted?: () => boolean;
  /** A set was read; it is applied next. */
  readonly onRead: (set: DesiredSet) => void;
  readonly onReport: (report: ApplyReport, set: DesiredSet) => void;
}

const RETRY = { minMs: 1000, maxMs: 60_000 };
const SOURCE_RETRY = { minMs: 1000, maxMs: 60_000 };
/** The set is compared with the cluster so often although nothing called for it, and up to a fifth later. */
const PERIOD_MS = 10 * 60_000;

/**
 * source ──► the newest set ──► apply ──► report; the same set again with growing waits as long as some item may go through
 * later, at once when what is allowed changes or an object was edited by hand, and now and then in any case. A newer set
 * takes the place of one that waits. A set that brings nothing but faults leaves what was wanted before wanted.
 */
export class SyncLoop {
  readonly #deps: SyncLoopDeps;
  readonly #wake = new Wake();
  readonly #edits = new HandEdits();
  #newest: DesiredSet | undefined;
  /** The last set that says what is wanted. */
  #good: DesiredSet | undefined;
  /** How often the way by which objects come has changed: a report of before says nothing of now. */
  #ways = 0;

  constructor(deps: SyncLoopDeps) {
    this.#deps = deps;
  }

  /** What is allowed, or where the operator may work, changed: the present set is applied again. */
  lookAgain(): void {
    this.#wake.ring();
  }

  /** A watch shows a change of an object of a kind that sources deliver. */
  noteChange(object: KubeObject, isGone: boolean): void {
    if (this.#edits.calls(this.#good, object, isGone)) this.#wake.ring();
  }

  /** Another mode or delivery epoch is in force: what is wanted is applied by it, and what was found before is not told. */
  wayChanged(): void {
    this.#ways += 1;
    this.#wake.ring();
  }

  /** The source is not the cluster's any more: nothing of it is applied again. */
  forget(): void {
    this.#newest = undefined;
    this.#good = undefined;
  }

  /** Runs until aborted. */
  async run(signal: AbortSignal): Promise<void> {
    await Promise.all([this.#follow(signal), this.#applyNewest(signal)]);
  }

  async #follow(signal: AbortSignal): Promise<void> {
    for (let failures = 1; !signal.aborted; failures += 1) {
      try {
        for await (const set of this.#deps.source.desired(signal)) {
          if (this.#deps.isWanted?.() === false) continue;
          this.#newest = set;
          if (!bringsOnlyFaults(set)) this.#good = set;
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
        const period = PERIOD_MS * (1 + this.#deps.random() / 5);
        const wait = failures === 0 ? period : Math.min(period, backoffMs(RETRY, failures, this.#deps.random));
        const rung = await this.#wake.waitAtMost(wait, this.#deps.clock, signal);
        if (rung === 'rung') failures = 0;
        const set = this.#wanted();
        if (set === undefined || this.#deps.isWanted?.() === false) continue;
        const ways = this.#ways;
        const report = await this.#deps.applyLoop.apply(set, signal);
        if (report.isCut === true || ways !== this.#ways) {
          this.#wake.ring();
          continue;
        }
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

  #wanted(): DesiredSet | undefined {
    const newest = this.#newest;
    const good = this.#good;
    if (newest === undefined || good === undefined || good === newest) return newest;
    const { revision: _revision, ...rest } = good;
    const of = newest.revision === undefined ? {} : { revision: newest.revision };
    return { ...rest, ...of, scope: 'partial', faults: newest.faults };
  }
}

function bringsOnlyFaults({ scope, objects, removals }: DesiredSet): boolean {
  return scope === 'partial' && objects.length === 0 && removals.length === 0;
}
