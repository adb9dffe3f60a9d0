import type { IntentSnapshot } from '../../events/ingest/ingest-store.ts';
import { EXPIRED, type JobOutcome, type JobPhase, type JobResult } from '../../protocol/job.ts';

/** Reason of an intent whose apply met a field of another manager; the text names both. */
export const APPLY_CONFLICT = 'ApplyConflict';
/** Reason of an intent whose job the operator held for expired long before it was. */
export const OPERATOR_CLOCK = 'OperatorClock';

/** Reason of an intent whose object carries a number that no control plane can have counted to. */
export const SOURCE_NOT_BELIEVED = 'SourceNotBelieved';

/** How far the operator's clock may be ahead: as far as its signatures may (decisions, "HMAC on writes"). */
const MAX_SKEW_MS = 300_000;

/** Longest reason that is kept with an intent, in UTF-16 units. */
const MAX_REASON = 2000;

/** What a result or status makes of the intent behind the job. */
export type Verdict =
  | { readonly move: 'ready' | 'removed' | 'applied' }
  /** `notApplied`: the result names no object that the cluster API took. */
  | { readonly move: 'failed'; readonly reason: string; readonly notApplied?: true }
  /** The job is over and its intent is not: it gets another job. */
  | { readonly move: 'redeliver'; readonly reason: string }
  /** The cluster has the object at this generation or a later one: what it reports says how far it is. */
  | { readonly move: 'reports' }
  | { readonly move: 'none' };

/** States in which nobody waits for the intent any more. A job's end is recorded with the job alone. */
const OVER: readonly IntentSnapshot['state'][] = ['ready', 'removed', 'superseded'];

/** Phases in which the cluster API has taken the object. */
const APPLIED_PHASES: readonly string[] = ['Reconciling', 'Ready', 'Deleting'] satisfies readonly JobPhase[];

/** What is judged: the job's intent, as it stands. */
export interface JudgedIntent {
  readonly state: IntentSnapshot['state'];
  readonly action: IntentSnapshot['action'];
  /** Of a cancellation: id of the intent that it cancels. */
  readonly cancels?: string | null | undefined;
}

/**
 * ```
 * succeeded ──► ready, or removed for an uninstall
 * failed ─────► failed, with the error
 * conflict ───► failed, ApplyConflict
 * noop ───────► delivered anew when it had expired; removed when there is nothing to delete; else as the cluster reports it
 * ```
 *
 * An intent that is over stays so: a report can be faster than the result. A cancellation goes by what the cluster reports of
 * its operation, whose job fails where it was cancelled.
 */
export function judgeResult(
  intent: JudgedIntent,
  result: Pick<JobResult, 'outcome' | 'error' | 'source' | 'appliedRef'>,
  job: { readonly expiresAt: string; readonly now: Date },
): Verdict {
  if (OVER.includes(intent.state)) return { move: 'none' };
  // The object that was applied was cancelled or had ended: what it reports says which.
  const isEnd = result.outcome === 'succeeded' || (result.outcome === 'failed' && result.appliedRef !== undefined);
  if (typeof intent.cancels === 'string' && isEnd) return { move: 'reports' };
  return VERDICTS[result.outcome](intent, result, job);
}

type Judge = (
  intent: JudgedIntent,
  result: Pick<JobResult, 'error' | 'source' | 'appliedRef'>,
  job: { readonly expiresAt: string; readonly now: Date },
) => Verdict;

const VERDICTS: Readonly<Record<JobOutcome, Judge>> = {
  succeeded: ({ action }) => ({ move: action === 'uninstall' ? 'removed' : 'ready' }),
  failed: (_intent, { error = '', appliedRef }) => ({
    move: 'failed',
    reason: cut(error),
    ...(appliedRef === undefined ? { notApplied: true } : {}),
  }),
  conflict: (_intent, { error = '' }) => ({
    move: 'failed',
    reason: cut(`${APPLY_CONFLICT}: ${error}`),
    notApplied: true,
  }),
  noop: ({ action }, { error, source }, { expiresAt, now }) => {
    if (error !== EXPIRED) {
      // Without a newer object under the name there is none at all, and nothing will ever be reported of it.
      return { move: action === 'uninstall' && source === undefined ? 'removed' : 'reports' };
    }
    if (now.getTime() + MAX_SKEW_MS >= Date.parse(expiresAt)) {
      return { move: 'redeliver', reason: `its job expired at ${expiresAt} before it was applied` };
    }
    return {
      move: 'failed',
      notApplied: true,
      reason: `${OPERATOR_CLOCK}: the operator took the job for expired, and it expires at ${expiresAt}; set the clock of its node`,
    };
  },
};

/** A status moves an intent that was delivered once the cluster has its object. */
export function judgePhase(intent: JudgedIntent, phase: string): Verdict {
  return intent.state === 'delivered' && APPLIED_PHASES.includes(phase) ? { move: 'applied' } : { move: 'none' };
}

function cut(text: string): string {
  return text.length <= MAX_REASON ? text : `${text.slice(0, MAX_REASON - 1).toWellFormed()}…`;
}
