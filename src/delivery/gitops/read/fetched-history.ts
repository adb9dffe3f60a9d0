import type { GitCommand } from './git-command.ts';
import { gitFaultOf } from './git-fault.ts';

export interface FetchedHistoryDeps {
  /** Runs in the copy. */
  readonly git: GitCommand;
  /** Fetches the branch, with these limits of its depth. */
  readonly fetch: (...limits: readonly string[]) => Promise<void>;
}

/** Commits that are fetched where dates do not say how many are new. */
const UNDATED_DEPTH = 50;
/** A host that finds no commit of such a date says so, or only ends its answer. */
const CUT_SHORT = /shallow|hung up|unexpected disconnect|early EOF/i;
/** What is missing is not fetched: that would bring a history of its own, however long. */
const LOCAL = ['remote.origin.promisor=false'];

/**
 * How much history comes to a copy that is one commit deep. Of a branch that only goes on it is what was added. But a merge
 * of a branch that began before the copy did would bring all the history there is, so it ends at the date of what is known.
 */
export class FetchedHistory {
  readonly #deps: FetchedHistoryDeps;

  constructor(deps: FetchedHistoryDeps) {
    this.#deps = deps;
  }

  /** The tip of the branch at the remote; undefined where it has none. @throws GitFault */
  async tipOf(branch: string, signal: AbortSignal): Promise<string | undefined> {
    const listed = await this.#deps.git.text(['ls-remote', 'origin', `refs/heads/${branch}`], { signal });
    return listed === '' ? undefined : listed.split('\t')[0];
  }

  /** @throws GitFault */
  async fetchSince(known: string, signal: AbortSignal): Promise<void> {
    const { git, fetch } = this.#deps;
    // Of a few, since one alone may claim to be older than all the others.
    const log = ['log', `-${UNDATED_DEPTH}`, '--format=%ct', '--end-of-options', known];
    const dates = (await git.text(log, { signal, settings: LOCAL })).trim().split('\n').map(Number);
    try {
      await fetch(`--shallow-since=@${Math.max(...dates)} +0000`);
    } catch (error) {
      signal.throwIfAborted();
      // A host that knows no dates, or a commit that claims to be older than the one it stands on.
      const text = error instanceof Error ? error.message : '';
      if (gitFaultOf(error).kind !== 'broken' && !CUT_SHORT.test(text)) throw error;
      await fetch(`--depth=${UNDATED_DEPTH}`);
    }
  }

  /** Whether a commit goes on from another. Dates that do not go forward may have cut the copy in between. @throws GitFault */
  async goesOn(from: string, tip: string, signal: AbortSignal): Promise<boolean> {
    if (await this.#isBehind(from, tip, signal)) return true;
    await this.#deps.fetch(`--deepen=${UNDATED_DEPTH}`);
    return await this.#isBehind(from, tip, signal);
  }

  async #isBehind(from: string, tip: string, signal: AbortSignal): Promise<boolean> {
    const options = { signal, settings: LOCAL };
    return (await this.#deps.git.text(['rev-list', '--max-count=1', from, `^${tip}`, '--'], options)).trim() === '';
  }
}
