import type { StatusChange } from '../../events/report/reporter.ts';
import type { Condition, ResourceRef } from '../../protocol/condition.ts';
import type { JobPhase, JobResult } from '../../protocol/job.ts';
import { BLOCKED_FOR_NOW } from '../../resources/blocked-for-now.ts';
import { findCondition } from '../../resources/conditions.ts';
import { OPERATION_KIND } from '../../resources/operation.ts';
import { Reason } from '../../resources/reasons.ts';

/** What the conditions of an applied object mean for its job. */
export type Progress =
  | { readonly state: 'ended'; readonly result: JobResult }
  | { readonly state: 'under way'; readonly phase: JobPhase };

/**
 * `applied` jobs (specification, "Job result body"): Ready ends one as succeeded; a failure that nobody but a person mends
 * ends it as failed. A suspension that the spec asks for is carried out. While the release controller tries again by itself
 * nothing is decided.
 */
export function judgeApplied({ ref, after }: StatusChange): Progress {
  return ref.kind === OPERATION_KIND ? judgeOperation(ref, after) : judgeInstance(ref, after);
}

/** A `delete` ends when its object is gone; until then it is only told how that goes. */
export function judgeGoing({ after }: StatusChange): Progress {
  const stalled = trueOf(after, 'Stalled');
  return stalled === undefined ? { state: 'under way', phase: 'Deleting' } : failed(stalled);
}

function judgeInstance(ref: ResourceRef, conditions: readonly Condition[]): Progress {
  const ready = trueOf(conditions, 'Ready');
  // Ready with an earlier version: what this job brought does not run.
  if (ready?.reason === Reason.HelmReleaseRolledBack) return failed(ready, ref);
  if (ready !== undefined) return succeeded(ref);
  const degraded = trueOf(conditions, 'Degraded');
  const stalled = trueOf(conditions, 'Stalled');
  // Degraded says what was done about it besides.
  // Its approval may come behind it.
  const isAwaited = stalled?.reason === Reason.ApprovalMissing;
  if (stalled !== undefined && !isAwaited) return failed(degraded ?? stalled, ref);
  const isRetrying = trueOf(conditions, 'Reconciling') !== undefined;
  if (!isRetrying && findCondition(conditions, 'Ready')?.reason === Reason.Suspended) return succeeded(ref);
  if (degraded !== undefined && !isRetrying) return failed(degraded, ref);
  return { state: 'under way', phase: 'Reconciling' };
}

function judgeOperation(ref: ResourceRef, conditions: readonly Condition[]): Progress {
  if (trueOf(conditions, 'Succeeded') !== undefined) return succeeded(ref);
  const bad = trueOf(conditions, 'Failed') ?? trueOf(conditions, 'Cancelled');
  if (bad !== undefined) return failed(bad, ref);
  const blocked = trueOf(conditions, 'Blocked');
  if (blocked !== undefined && !BLOCKED_FOR_NOW.includes(blocked.reason ?? '')) return failed(blocked, ref);
  return { state: 'under way', phase: 'Reconciling' };
}

function trueOf(conditions: readonly Condition[], type: string): Condition | undefined {
  const condition = findCondition(conditions, type);
  return condition?.status === 'True' ? condition : undefined;
}

function succeeded(appliedRef: ResourceRef): Progress {
  return { state: 'ended', result: { outcome: 'succeeded', appliedRef } };
}

function failed({ type, reason = type, message }: Condition, appliedRef?: ResourceRef): Progress {
  const error = message === undefined || message === '' ? reason : `${reason}: ${message}`;
  return { state: 'ended', result: { outcome: 'failed', error, ...(appliedRef === undefined ? {} : { appliedRef }) } };
}
