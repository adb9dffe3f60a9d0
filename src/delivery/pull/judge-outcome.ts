import type { ResourceRef } from '../../protocol/condition.ts';
import type { JobResult } from '../../protocol/job.ts';
import { Reason } from '../../resources/reasons.ts';
import type { Outcome } from '../delivery.ts';

/** What an attempt to apply a job came to. */
export type JobVerdict =
  /** Some fault that may pass: tried again until the job expires. */
  | { readonly state: 'waiting'; readonly reason: string; readonly message: string }
  /** In the cluster; the job goes on until the object is ready, or gone. */
  | { readonly state: 'applied'; readonly ref?: ResourceRef }
  | { readonly state: 'ended'; readonly result: JobResult };

/** What is known of a job from before the attempt. */
export interface JobHistory {
  /** Neither this process nor an earlier one has tried it; so what stands in the cluster already came by another delivery. */
  readonly isFirstTry: boolean;
  /** Its object was in the cluster at some time, or its deletion was asked for. */
  readonly wasApplied: boolean;
}

/** Somebody in the cluster may grant or make what is missing; nothing has to change in what was asked for. */
const MAY_PASS: readonly string[] = [Reason.NamespaceNotLabelled, Reason.NamespaceNotGranted, Reason.Paused];
const NEVER_TAKEN: readonly string[] = [Reason.ManifestInvalid, Reason.ManifestRefused];

/** What becomes of a job after an attempt (specification, "Job result body"; decisions, "Jobs"). Pure. */
export function judgeOutcome(kind: 'apply' | 'delete', outcome: Outcome, history: JobHistory): JobVerdict {
  switch (outcome.state) {
    case 'applied':
    case 'deleted':
      return applied(outcome.ref);
    case 'unchanged':
      return history.isFirstTry ? noop('already applied at this generation', outcome.ref) : applied(outcome.ref);
    case 'absent':
      if (kind === 'apply') return noop('the operation was brought before and is gone; it is not run again');
      return history.isFirstTry ? noop('the object is not in the cluster') : ended({ outcome: 'succeeded' });
    case 'stale':
      // What it asked to go is gone, and something newer has taken its name.
      if (kind === 'delete' && history.wasApplied) return ended({ outcome: 'succeeded' });
      return ended({ outcome: 'noop', error: outcome.message, ...(outcome.newer && { source: outcome.newer }) });
    case 'conflict':
      return ended({ outcome: 'conflict', error: outcome.message });
    case 'refused':
    case 'failed': {
      const { reason, message, isLasting } = outcome;
      const isFinal =
        outcome.state === 'refused' ? !MAY_PASS.includes(reason) : isLasting === true || NEVER_TAKEN.includes(reason);
      return isFinal
        ? ended({ outcome: 'failed', error: `${reason}: ${message}` })
        : { state: 'waiting', reason, message };
    }
  }
}

function applied(ref: ResourceRef | undefined): JobVerdict {
  return { state: 'applied', ...(ref === undefined ? {} : { ref }) };
}

function noop(error: string, appliedRef?: ResourceRef): JobVerdict {
  return ended({ outcome: 'noop', error, ...(appliedRef === undefined ? {} : { appliedRef }) });
}

function ended(result: JobResult): JobVerdict {
  return { state: 'ended', result };
}
