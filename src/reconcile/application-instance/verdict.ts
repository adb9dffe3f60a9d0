import type { Condition } from '../../protocol/condition.ts';
import type { ApplicationInstanceStatus } from '../../resources/application-instance.ts';
import type { ApplicationInstanceConditionType } from '../../resources/condition-types.ts';
import { findCondition, setCondition } from '../../resources/conditions.ts';
import { Reason } from '../../resources/reasons.ts';

/** One condition as a step decides it. */
export interface Finding {
  readonly status: 'True' | 'False' | 'Unknown';
  readonly reason: Reason;
  readonly message: string;
}

/** What a pass came to: all that goes into the conditions, decided in one place. */
export interface Verdict {
  readonly ready: Finding;
  readonly reconciling: Finding;
  /** Absent: as it was, when the spec is the same, else False. Progress alone does not clear a failure. */
  readonly degraded?: Finding;
  /** True: nothing will change without a person. Absent: not stalled. */
  readonly stalled?: Finding;
  /** What the release controller says of drift. Absent: it is not asked to look for any, or the release is not looked at. */
  readonly drifted?: Finding;
  readonly release?: ApplicationInstanceStatus['release'];
}

const HEALTHY: Finding = { status: 'False', reason: Reason.Healthy, message: 'nothing is wrong with the release' };

/** Ready: the release is what the spec asks for. */
export function ready(reason: Reason, message: string, release: Verdict['release']): Verdict {
  return {
    ready: { status: 'True', reason, message },
    reconciling: { status: 'False', reason: Reason.Stable, message: 'what is observed is what is desired' },
    degraded: HEALTHY,
    ...(release === undefined ? {} : { release }),
  };
}

/** On its way. */
export function progressing(reason: Reason, message: string, release?: Verdict['release']): Verdict {
  return {
    ready: { status: 'False', reason, message },
    reconciling: { status: 'True', reason, message },
    ...(release === undefined ? {} : { release }),
  };
}

/** Held back for a cause that is not a failure: paused, suspended, waiting. */
export function held(reason: Reason, message: string, release?: Verdict['release']): Verdict {
  return {
    ready: { status: 'False', reason, message },
    reconciling: { status: 'False', reason, message },
    ...(release === undefined ? {} : { release }),
  };
}

/** Break-glass: what was Ready of this very spec still is, as far as anyone knows; of another nothing is known. */
export function paused(message: string, readyBefore: Condition | undefined): Verdict {
  const { status = 'Unknown', reason, message: said } = readyBefore ?? {};
  return {
    ready: { status, reason: (reason as Reason | undefined) ?? Reason.Paused, message: said ?? message },
    reconciling: { status: 'False', reason: Reason.Paused, message },
  };
}

/** Failed; `retrying` tells whether the release controller tries again unaided. */
export function degraded(
  reason: Reason,
  message: string,
  options: { readonly retrying?: Reason; readonly stalled?: boolean; readonly release?: Verdict['release'] } = {},
): Verdict {
  const finding = (status: Finding['status'], because: Reason = reason): Finding => ({
    status,
    reason: because,
    message,
  });
  return {
    ready: finding('False'),
    reconciling: options.retrying === undefined ? finding('False') : finding('True', options.retrying),
    degraded: finding('True'),
    ...(options.stalled === true ? { stalled: finding('True') } : {}),
    ...(options.release === undefined ? {} : { release: options.release }),
  };
}

/** Refused by policy: nothing is written downstream until someone changes the spec or what is allowed. */
export function stalled(reason: Reason, message: string): Verdict {
  const finding = (status: Finding['status']): Finding => ({ status, reason, message });
  return { ready: finding('False'), reconciling: finding('False'), stalled: finding('True') };
}

/** The conditions that a verdict makes of those before. The very same list where nothing changed. */
export function conditionsOf(
  verdict: Verdict,
  before: readonly Condition[],
  about: { readonly generation: number; readonly sameSpec: boolean; readonly detectsDrift?: boolean },
  now: Date,
): readonly Condition[] {
  const set = (list: readonly Condition[], type: ApplicationInstanceConditionType, finding: Finding) =>
    setCondition(list, { type, ...finding, observedGeneration: about.generation }, now);
  const wasDegraded = findCondition(before, 'Degraded') !== undefined;
  let after = set(before, 'Ready', verdict.ready);
  after = set(after, 'Reconciling', verdict.reconciling);
  if (verdict.degraded !== undefined) after = set(after, 'Degraded', verdict.degraded);
  else if (!wasDegraded || !about.sameSpec) after = set(after, 'Degraded', HEALTHY);
  if (verdict.stalled !== undefined) after = set(after, 'Stalled', verdict.stalled);
  else if (findCondition(before, 'Stalled') !== undefined) {
    after = set(after, 'Stalled', { status: 'False', reason: Reason.Stable, message: 'no person is waited for' });
  }
  if (verdict.drifted !== undefined) after = set(after, 'Drifted', verdict.drifted);
  else if (about.detectsDrift !== true && findCondition(before, 'Drifted') !== undefined) {
    // Not taken away: what was reported of it would stand for ever.
    after = set(after, 'Drifted', { status: 'False', reason: Reason.NoDrift, message: 'drift is not looked for' });
  }
  return after;
}
