import { isObjectId } from '../../git/git-object.ts';
import type { BranchCopy } from '../../git/branch-copy.ts';
import type { IntentRecord } from '../../intent/intent-record.ts';

const DAY_MS = 24 * 60 * 60 * 1000;
const MAX_CANDIDATES = '50';

/**
 * The commit of the branch that delivered an intent, by its `Intent-Id` trailer. A grep finds candidates, the trailer
 * decides: a reason that quotes another intent's id is no receipt for it. No commit can be older than its intent, so
 * history is read back to then (less a day, for clocks that disagree).
 */
export async function findCommitOfIntent(
  copy: BranchCopy,
  tip: string,
  intent: Pick<IntentRecord, 'id' | 'requestedAt'>,
  signal: AbortSignal,
): Promise<string | undefined> {
  const { id, requestedAt } = intent;
  const requested = new Date(requestedAt).getTime();
  const since = Number.isNaN(requested) ? [] : [`--since=${Math.max(0, Math.floor((requested - DAY_MS) / 1000))}`];
  const output = await copy.query(
    [
      'log',
      '--no-color',
      '--no-decorate',
      '--no-show-signature',
      '--no-mailmap',
      '--format=%H %(trailers:key=Intent-Id,valueonly,unfold,separator=%x2C)',
      '--fixed-strings',
      `--grep=Intent-Id: ${id}`,
      `--max-count=${MAX_CANDIDATES}`,
      ...since,
      tip,
      '--',
    ],
    signal,
  );
  for (const line of output.split('\n')) {
    if (line.slice(41) === id && isObjectId(line.slice(0, 40))) return line.slice(0, 40);
  }
  return undefined;
}

/** The last commit that changed `path`: the one that holds what stands there, whoever made it. */
export async function findCommitOfPath(
  copy: BranchCopy,
  tip: string,
  path: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  const output = await copy.query(['rev-list', '--max-count=1', tip, '--', path], signal);
  const id = output.trim();
  return isObjectId(id) ? id : undefined;
}

/** Whether a commit is in the branch's history; false too for one that the copy does not have. */
export async function isAncestor(copy: BranchCopy, commit: string, tip: string, signal: AbortSignal): Promise<boolean> {
  if (!isObjectId(commit)) return false;
  try {
    // Empty when nothing that leads to the commit is missing from the tip.
    return (await copy.query(['rev-list', '--max-count=1', commit, `^${tip}`, '--'], signal)) === '';
  } catch {
    signal.throwIfAborted();
    return false;
  }
}
