import { isObjectId } from '../../../git/git-object.ts';
import type { BranchCopy } from '../../../git/branch-copy.ts';
import type { IntentRecord } from '../../../intent/intent-record.ts';

const DAY_MS = 24 * 60 * 60 * 1000;

type Wanted = Pick<IntentRecord, 'id' | 'requestedAt'>;

/** As `findCommitsOfIntents`, of one. */
export async function findCommitOfIntent(
  copy: BranchCopy,
  tip: string,
  intent: Wanted,
  signal: AbortSignal,
): Promise<string | undefined> {
  return (await findCommitsOfIntents(copy, tip, [intent], signal)).get(intent.id);
}

/**
 * The commits of the branch that delivered intents, by their `Intent-Id` trailers, in one git process however many. A grep
 * finds candidates, the trailer decides: a reason that quotes another intent's id is no receipt for it. Of several the oldest
 * counts: whoever copies a trailer copies it from a commit that is there already. No commit can be
 * older than its intent, so history is read back to the oldest one (less a day, for clocks that disagree).
 */
export async function findCommitsOfIntents(
  copy: BranchCopy,
  tip: string,
  intents: readonly Wanted[],
  signal: AbortSignal,
): Promise<ReadonlyMap<string, string>> {
  const found = new Map<string, string>();
  if (intents.length === 0) return found;
  const oldest = Math.min(...intents.map(({ requestedAt }) => new Date(requestedAt).getTime()));
  const since = Number.isNaN(oldest) ? [] : [`--since=${Math.max(0, Math.floor((oldest - DAY_MS) / 1000))}`];
  const output = await copy.query(
    [
      'log',
      '--no-color',
      '--no-decorate',
      '--no-show-signature',
      '--no-mailmap',
      '--format=%H %(trailers:key=Intent-Id,valueonly,unfold,separator=%x2C)',
      '--fixed-strings',
      ...intents.map(({ id }) => `--grep=Intent-Id: ${id}`),
      ...since,
      tip,
      '--',
    ],
    signal,
  );
  const wanted = new Set(intents.map(({ id }) => id));
  for (const line of output.split('\n')) {
    const [commit, id] = [line.slice(0, 40), line.slice(41)];
    if (isObjectId(commit) && wanted.has(id)) found.set(id, commit);
  }
  return found;
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
