import type { DesiredSet, Outcome, Source } from '../../delivery/delivery.ts';
import type { ApplyLoop } from '../../reconcile/apply-loop.ts';
import { Reason } from '../../resources/reasons.ts';
import { backoffMs } from '../../runtime/backoff.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Logger } from '../../runtime/logger.ts';

export interface JobLoopDeps {
  readonly source: Source;
  readonly applyLoop: ApplyLoop;
  readonly clock: Clock;
  readonly random: () => number;
  readonly logger: Logger;
}

const RETRY = { minMs: 1000, maxMs: 60_000 };

/**
 * Applies what the job source yields, one set after the other, and tells it what became of each item before it asks for the
 * next: so jobs of one object are applied in their order. When to try again is the source's to say, job by job.
 */
export async function runJobLoop(deps: JobLoopDeps, signal: AbortSignal): Promise<void> {
  const { source, applyLoop, clock, random, logger } = deps;
  for (let failures = 1; !signal.aborted; failures += 1) {
    try {
      for await (const set of source.desired(signal)) {
        const { outcomes, faults, isCut } = await applyLoop.apply(set, signal);
        const held = heldOutcome(faults);
        for (const key of keysOf(set)) {
          // What a pass that was cut short did not come to is yielded again, and judged by what is in force then.
          const outcome = outcomes.get(key) ?? (isCut === true ? undefined : held);
          if (outcome !== undefined) await source.settle(key, outcome);
        }
        failures = 1;
      }
    } catch (error) {
      if (signal.aborted) return;
      logger.error({ err: error, failures }, 'applying jobs failed; it is started again');
      await clock.sleep(backoffMs(RETRY, failures, random), signal).catch(() => undefined);
    }
  }
}

function keysOf({ objects, removals }: DesiredSet): readonly string[] {
  return [...removals, ...objects].map(({ key }) => key);
}

/** A pass that looks at nothing says why in one fault: the Cluster is paused. */
function heldOutcome(faults: DesiredSet['faults']): Outcome {
  const [fault] = faults;
  return { state: 'refused', reason: fault?.reason ?? Reason.Paused, message: fault?.message ?? 'writes are paused' };
}
