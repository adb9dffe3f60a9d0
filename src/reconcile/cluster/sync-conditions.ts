import type { Outcome } from '../../delivery/delivery.ts';
import type { Condition } from '../../protocol/condition.ts';
import { Reason } from '../../resources/reasons.ts';
import type { ApplyReport } from '../apply-report.ts';

/** Named in one message; what is beyond is counted. */
const MAX_NAMED = 20;
/** Of all items' own messages, shared out: one alone may print a whole command. */
const MAX_MESSAGES = 6000;
const MAX_ITEM_MESSAGE = 1500;

interface BadItem {
  readonly key: string;
  readonly reason: string;
  readonly message: string;
}

/**
 * `Synced` and `RemovedWithoutTombstone` of the Cluster's status, from the last pass. Each has a reason and a message
 * that names every bad item (bounded; says how many more). `lastTransitionTime` is left to who merges them. A pass over a
 * part of the source says nothing of what vanished: `RemovedWithoutTombstone` stays as the last whole pass left it, unless
 * that is what keeps the source from being taken for whole.
 */
export function syncConditions(report: ApplyReport): readonly Omit<Condition, 'lastTransitionTime'>[] {
  if (report.complete) return [synced(report), removedWithoutTombstone(report)];
  const isHeld = report.faults.some(({ reason }) => reason === Reason.RemovalsHeld);
  return isHeld ? [synced(report), removalsHeld()] : [synced(report)];
}

function removalsHeld(): Omit<Condition, 'lastTransitionTime'> {
  const message = 'files of applied objects are gone, and nothing is taken for removed; Synced names them';
  return { type: 'RemovedWithoutTombstone', status: 'Unknown', reason: Reason.RemovalsHeld, message };
}

function synced(report: ApplyReport): Omit<Condition, 'lastTransitionTime'> {
  const bad = badItems(report);
  // Whose file vanished has none to count, unless it is still to go.
  const gone = [...report.pruned].filter((key) => !isBad(report.outcomes.get(key), true)).length;
  const total = report.outcomes.size + report.faults.length - gone;
  if (bad.length === 0) {
    const past = [...report.outcomes.values()].filter((outcome) => outcome.state === 'stale' && outcome.isPast).length;
    const files = `${total} ${total === 1 ? 'file' : 'files'}`;
    const of = past === 0 ? '' : `, ${past} of an earlier delivery epoch, which change nothing`;
    const message = `${revisionOf(report)} is applied (${files}${of})`;
    return { type: 'Synced', status: 'True', reason: Reason.Applied, message };
  }
  const reasons = new Set(bad.map(({ reason }) => reason));
  const [only] = reasons;
  const reason = reasons.size === 1 && only !== undefined ? only : Reason.PartlyApplied;
  const shown = bad.slice(0, MAX_NAMED);
  const rest = shown.filter((item) => !isOfAll(item)).length;
  const room = Math.min(MAX_ITEM_MESSAGE, Math.floor(MAX_MESSAGES / Math.max(1, rest)));
  const roomOf = (item: BadItem): number => (isOfAll(item) ? MAX_ITEM_MESSAGE : room);
  const named = shown.map((item) => `${item.key}: ${item.reason}: ${shorten(item.message, roomOf(item))}`);
  const message = `${revisionOf(report)}: ${bad.length} of ${total} not applied: ${withMore(named, bad.length)}`;
  return { type: 'Synced', status: 'False', reason, message };
}

/** Of a source that was never read nothing has a revision. */
function revisionOf({ revision }: ApplyReport): string {
  return revision === undefined ? 'no revision' : `revision ${revision}`;
}

function removedWithoutTombstone(report: ApplyReport): Omit<Condition, 'lastTransitionTime'> {
  const type = 'RemovedWithoutTombstone';
  const kept = report.removedWithoutTombstone;
  if (kept.length === 0) {
    const message = 'every applied object has its file or had a tombstone';
    return { type, status: 'False', reason: Reason.AllFilesPresent, message };
  }
  const named = kept.slice(0, MAX_NAMED).map((ref) => `${ref.kind} ${ref.namespace ?? ''}/${ref.name}`);
  const message =
    `kept in the cluster although the file is gone: ${withMore(named, kept.length)}; ` +
    'uninstall through the control plane, or restore the file';
  return { type, status: 'True', reason: Reason.FileRemoved, message };
}

function badItems(report: ApplyReport): readonly BadItem[] {
  const outcomes = [...report.outcomes]
    .filter(([key, outcome]) => isBad(outcome, report.removals.has(key)))
    .map(([key, outcome]) => ({
      key,
      reason: 'reason' in outcome ? outcome.reason : '',
      message: 'message' in outcome ? outcome.message : '',
    }));
  const all = [...report.faults, ...outcomes].sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0));
  return [...all.filter(isOfAll), ...all.filter((item) => !isOfAll(item))];
}

/** What holds up more than its own file is named before all files, in full: it may print a command. */
function isOfAll({ reason }: BadItem): boolean {
  return reason === Reason.RemovalsHeld || reason === Reason.Paused;
}

/** A tombstone stays in its source long after what it asked for, and is stale once the object is made anew: no fault. */
function isBad(outcome: Outcome | undefined, isRemoval: boolean): boolean {
  switch (outcome?.state) {
    case undefined:
    case 'applied':
    case 'unchanged':
    case 'deleted':
    case 'absent':
      return false;
    case 'stale':
      return !isRemoval && outcome.isPast !== true;
    case 'failed':
    case 'conflict':
    case 'refused':
      return true;
  }
}

function withMore(named: readonly string[], total: number): string {
  return named.join('; ') + (total > named.length ? `; and ${total - named.length} more` : '');
}

function shorten(message: string, room: number): string {
  return message.length <= room ? message : `${message.slice(0, room - 1)}…`;
}
