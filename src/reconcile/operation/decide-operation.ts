import { Reason } from '../../resources/reasons.ts';
import { backoffMs } from '../../runtime/backoff.ts';
import { deadlineOf, type End, type RunPlan, type Standing } from './operation-standing.ts';
import type { FailedTry, OutputRef, RunState } from './template-runner.ts';

/** Whether a try may begin now. */
export type Verdict =
  | { readonly kind: 'may run'; readonly plan: RunPlan }
  | { readonly kind: 'barred'; readonly reason: Reason; readonly message: string };

/** A try as it was looked at; `unknown`: the server did not say. */
export type Seen = RunState | { readonly state: 'unknown'; readonly message: string };

/** Everything that the next step rests on. */
export interface OperationView {
  readonly standing: Standing;
  /** What stands there of what runs was not written by this operator, so nothing is done by it. */
  readonly isAltered?: boolean;
  readonly isCancelAsked: boolean;
  /** It had begun before as another object that went; says so. */
  readonly hadBegun?: string;
  /** Asked where a try may be due to begin (`needsVerdict`). */
  readonly verdict?: Verdict;
  /** Undefined until the present try was looked at. */
  readonly seen?: Seen;
  /** Whether the template may be cancelled, and whether what runs can be ended at all. */
  readonly isCancellable: boolean;
  readonly isStoppable: boolean;
  /** Writes are paused here: nothing begins, and nothing is stopped. */
  readonly pause?: string;
  readonly ttlSeconds?: number;
  readonly now: Date;
  readonly random: () => number;
}

export interface Ending {
  readonly end: End;
  readonly reason: Reason;
  readonly message: string;
  readonly outputRef?: OutputRef;
  readonly output?: string;
}

export type Decision =
  /** Nothing to do before `again`. */
  | { readonly kind: 'rest'; readonly again?: Date }
  | { readonly kind: 'block'; readonly reason: Reason; readonly message: string }
  | { readonly kind: 'look' }
  /** Write down that the try runs, and only then start it. */
  | { readonly kind: 'begin'; readonly attempt: number; readonly plan: RunPlan; readonly message: string }
  /** It was written down that the try runs, and nothing of it is there. */
  | { readonly kind: 'start' }
  /** It goes on. */
  | {
      readonly kind: 'say';
      readonly message: string;
      readonly isBegun: boolean;
      readonly progress?: string;
      readonly outputRef?: OutputRef;
      readonly again: Date;
    }
  /** The try failed, and another follows. */
  | { readonly kind: 'retry'; readonly message: string; readonly again: Date; readonly outputRef?: OutputRef }
  /** Write down that it is stopped, unless that stands there, and only then stop it. */
  | { readonly kind: 'stop'; readonly ending: Ending & { readonly end: 'Cancelled' | 'Failed' } }
  | { readonly kind: 'end'; readonly ending: Ending }
  /** Its time after the end is over. */
  | { readonly kind: 'remove' };

type RunningView = OperationView & { readonly standing: Extract<Standing, { kind: 'running' }> };

const RETRY = { minMs: 10_000, maxMs: 300_000 };
/** Between two looks at what runs: a tenth of how long it has run, within these. */
const SHORTEST_LOOK_MS = 1000;
const LONGEST_LOOK_MS = 15_000;

/**
 * The next step of an operation. Pure; what a state rests on is written down before the step that follows from it.
 *
 * ```
 *            refused or paused
 *   ┌─────────┐ ◄──────► ┌──────────┐  written, then started   ┌─────────┐ ──► Succeeded
 *   │ Blocked │          │ Accepted │ ───────────────────────► │ Running │ ──► Failed: it failed for good or once too often,
 *   └────┬────┘          └────┬─────┘                          └──┬───▲──┘             it is past its deadline, it is lost
 *        │ cancel             │ cancel              a try failed, │   │           ──► Cancelled: stopped, or between tries
 *        ▼                    ▼                     more are left └───┘ again after a pause, if it still may
 *     Cancelled            Cancelled
 * ```
 *
 * Accepted and Running are written as one where nothing bars it. The three ends are final: whatever is seen later, they
 * stay. What is there already when cancel or the deadline comes counts: an operation that has ended by itself has ended so.
 */
export function decideOperation(view: OperationView): Decision {
  const { standing } = view;
  switch (standing.kind) {
    case 'ended':
      return afterEnd(standing, view);
    case 'waiting':
      return beforeStart(view);
    case 'running':
      return view.isAltered === true ? ALTERED : whileRunning({ ...view, standing });
  }
}

/** Where the verdict on a start is looked at: it may ask more than memory. */
export function needsVerdict(view: Omit<OperationView, 'verdict'>): boolean {
  const { standing, isAltered, isCancelAsked, seen, now } = view;
  if (isAltered === true || isCancelAsked || standing.kind === 'ended') return false;
  if (standing.kind === 'waiting') return true;
  if (now >= deadlineOf(standing)) return false;
  if (standing.nextTryAt !== undefined) return now >= standing.nextTryAt;
  return seen?.state === 'absent' && !standing.isBegun;
}

const ALTERED: Decision = {
  kind: 'end',
  ending: {
    end: 'Failed',
    reason: Reason.StatusAltered,
    message:
      'its status says that it runs and is not as this operator wrote it: somebody changed it, or the keypair of the cluster was lost since; nothing is done by it, and what it may have begun may go on: look for that, and ask for the operation anew',
  },
};

function afterEnd(
  { finishedAt }: Extract<Standing, { kind: 'ended' }>,
  { ttlSeconds, now, pause }: OperationView,
): Decision {
  if (ttlSeconds === undefined || finishedAt === undefined || pause !== undefined) return { kind: 'rest' };
  const due = new Date(finishedAt.getTime() + ttlSeconds * 1000);
  return now < due ? { kind: 'rest', again: due } : { kind: 'remove' };
}

function beforeStart({ isCancelAsked, hadBegun, verdict }: OperationView): Decision {
  if (isCancelAsked && hadBegun !== undefined) {
    return { kind: 'end', ending: ending('Failed', Reason.OperationLost, hadBegun) };
  }
  if (isCancelAsked) return cancelled('it was cancelled before it began; nothing was done');
  if (verdict === undefined) return { kind: 'rest' };
  if (verdict.kind === 'barred') return { kind: 'block', reason: verdict.reason, message: verdict.message };
  const { plan } = verdict;
  return { kind: 'begin', attempt: 1, plan, message: runningMessage(plan, 1) };
}

function whileRunning(view: RunningView): Decision {
  const { standing, seen } = view;
  if (standing.stopping !== undefined) return stops(view, standing.stopping, standing.progress);
  if (standing.nextTryAt !== undefined) return betweenTries(view, standing.nextTryAt);
  if (seen === undefined) return { kind: 'look' };
  switch (seen.state) {
    case 'absent':
      return standing.isBegun ? afterLoss(view) : beforeWork(view);
    case 'succeeded':
      return { kind: 'end', ending: asEnding('Succeeded', seen, seen.message) };
    case 'failed':
      return afterFailure(view, seen);
    case 'running':
    case 'unknown':
      return goesOn(view, seen);
  }
}

function betweenTries(view: RunningView, nextTryAt: Date): Decision {
  const { standing, isCancelAsked, verdict, now } = view;
  const deadline = deadlineOf(standing);
  if (isCancelAsked) return cancelled(`it was cancelled between two tries (${standing.said})`);
  if (now >= deadline) return late(view, `there was no time for another try (${standing.said})`);
  if (now < nextTryAt || verdict === undefined) {
    return { kind: 'rest', again: earlier(now < nextTryAt ? nextTryAt : deadline, deadline) };
  }
  if (verdict.kind === 'barred') return waits(view, verdict.message);
  const attempt = standing.attempt + 1;
  return { kind: 'begin', attempt, plan: standing.plan, message: runningMessage(standing.plan, attempt) };
}

/** Nothing of the try is there, and it is not known to have begun. */
function beforeWork(view: RunningView): Decision {
  const { isCancelAsked, verdict, now, standing } = view;
  if (isCancelAsked) return cancelled('it was cancelled before anything was begun');
  if (now >= deadlineOf(standing)) return late(view, 'nothing was begun');
  if (verdict === undefined) return { kind: 'rest', again: deadlineOf(standing) };
  return verdict.kind === 'barred' ? waits(view, verdict.message) : { kind: 'start' };
}

function waits({ standing }: RunningView, why: string): Decision {
  const message = `try ${standing.attempt} does not go on, since no try may begin now: ${why}`;
  return { kind: 'say', message, isBegun: false, again: deadlineOf(standing) };
}

/** What was made is not there any more. */
function afterLoss(view: RunningView): Decision {
  const { standing, now } = view;
  if (now >= deadlineOf(standing)) return late(view, 'what it had made is gone');
  return afterFailure(view, {
    state: 'failed',
    reason: Reason.OperationLost,
    message: `what try ${standing.attempt} had made is gone, so nobody can say how it ended`,
    isFinal: false,
  });
}

function afterFailure(view: RunningView, failed: FailedTry): Decision {
  const { standing, isCancelAsked, now, random } = view;
  const { plan, attempt } = standing;
  const { message, isFinal, outputRef } = failed;
  const at = new Date(now.getTime() + backoffMs(RETRY, attempt, random));
  const isOver = isFinal || isCancelAsked || attempt > plan.retries || at >= deadlineOf(standing);
  if (!isOver) {
    const text = `try ${attempt} of ${plan.retries + 1} failed: ${message}; the next follows at ${at.toISOString()}`;
    return { kind: 'retry', message: text, again: at, ...(outputRef === undefined ? {} : { outputRef }) };
  }
  const tries = attempt === 1 ? '' : ` (try ${attempt} of ${plan.retries + 1})`;
  return { kind: 'end', ending: asEnding('Failed', failed, `${message}${tries}`) };
}

function asEnding(
  end: End,
  { reason, outputRef, output }: Extract<RunState, { state: 'succeeded' | 'failed' }>,
  message: string,
): Ending {
  return {
    end,
    reason,
    message,
    ...(outputRef === undefined ? {} : { outputRef }),
    ...(output === undefined ? {} : { output }),
  };
}

function goesOn(view: RunningView, seen: Extract<Seen, { state: 'running' | 'unknown' }>): Decision {
  const { standing, isCancelAsked, isCancellable, isStoppable, pause, now } = view;
  const { plan, attempt } = standing;
  const deadline = deadlineOf(standing);
  const outputRef = seen.state === 'running' && seen.outputRef !== undefined ? { outputRef: seen.outputRef } : {};
  if (now >= deadline) {
    const last = seen.state === 'running' ? seen.message : `it cannot be seen how it stands: ${seen.message}`;
    if (isStoppable) return stops(view, 'Failed', last);
    return late(view, `${last}; its template cannot be stopped, so what it began may go on`, outputRef);
  }
  if (isCancelAsked && isCancellable && pause === undefined) return stops(view, 'Cancelled', '');
  const held = pause === undefined ? 'this template cannot be stopped, so it goes on to its end' : pause;
  const message = `${runningMessage(plan, attempt)}${isCancelAsked ? `; cancel was asked for: ${held}` : ''}`;
  const ranMs = now.getTime() - standing.startedAt.getTime();
  const wait = Math.min(LONGEST_LOOK_MS, Math.max(SHORTEST_LOOK_MS, ranMs / 10));
  const again = earlier(new Date(now.getTime() + wait), deadline);
  const progress = seen.state === 'running' ? { progress: seen.message } : {};
  return {
    kind: 'say',
    message,
    isBegun: seen.state === 'running' || standing.isBegun,
    ...progress,
    ...outputRef,
    again,
  };
}

function stops(view: RunningView, end: 'Cancelled' | 'Failed', last: string): Decision {
  const { standing, seen, pause, now } = view;
  const deadline = deadlineOf(standing);
  const outputRef = seen?.state === 'running' && seen.outputRef !== undefined ? { outputRef: seen.outputRef } : {};
  if (pause !== undefined) {
    if (now < deadline) return { kind: 'rest', again: deadline };
    return late(view, `${last}; it was not stopped: ${pause}`, outputRef);
  }
  if (end === 'Cancelled') {
    return {
      kind: 'stop',
      ending: { end, reason: Reason.OperationCancelled, message: 'it was stopped', ...outputRef },
    };
  }
  const message = lateText(standing.plan, last);
  return { kind: 'stop', ending: { end, reason: Reason.DeadlineExceeded, message, ...outputRef } };
}

function runningMessage({ template, deadlineSeconds, retries }: RunPlan, attempt: number): string {
  const tries = retries === 0 ? '' : `, try ${attempt} of ${retries + 1}`;
  return `${template} runs${tries}, for at most ${deadlineSeconds} s`;
}

function cancelled(message: string): Decision {
  return { kind: 'end', ending: ending('Cancelled', Reason.OperationCancelled, message) };
}

function late({ standing }: RunningView, message: string, rest: Pick<Ending, 'outputRef'> = {}): Decision {
  return { kind: 'end', ending: ending('Failed', Reason.DeadlineExceeded, lateText(standing.plan, message), rest) };
}

function lateText({ deadlineSeconds }: RunPlan, message: string): string {
  return `it had not ended ${deadlineSeconds} s after its start: ${message}`;
}

function ending(end: End, reason: Reason, message: string, rest: Pick<Ending, 'outputRef'> = {}): Ending {
  return { end, reason, message, ...rest };
}

function earlier(a: Date, b: Date): Date {
  return a < b ? a : b;
}
