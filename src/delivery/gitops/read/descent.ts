import type { Logger } from '../../../runtime/logger.ts';
import type { GitCommand } from './git-command.ts';
import { gitFaultOf } from './git-fault.ts';

export interface DescentDeps {
  /** Runs in the copy. */
  readonly git: GitCommand;
  readonly branch: string;
  readonly logger: Logger;
}

/** By so many commits the copy is deepened, in turn, until it shows where a branch comes from. */
const STEPS = [50, 1000, 20_000];
/** What is missing is not fetched: that would bring a history of its own, however long. */
const LOCAL = ['remote.origin.promisor=false'];

/** Says whether a commit goes on from another. A fresh copy is one commit deep, so it may have to be deepened for that. */
export class Descent {
  readonly #deps: DescentDeps;
  /** For this one the copy was deepened as far as it ever is. */
  #searched: string | undefined;

  constructor(deps: DescentDeps) {
    this.#deps = deps;
  }

  /** False also where it cannot be shown. @throws GitFault where the remote cannot be asked now */
  async isShown(from: string, tip: string, signal: AbortSignal): Promise<boolean> {
    if (from === tip) return true;
    if (await this.#isBehind(from, tip, signal)) return true;
    if (this.#searched === from) return false;
    for (const step of STEPS) {
      if (!(await this.#isShallow(signal))) break;
      if (!(await this.#deepen(step, signal))) return false;
      if (await this.#isBehind(from, tip, signal)) return true;
    }
    this.#searched = from;
    return false;
  }

  async #isBehind(commit: string, tip: string, signal: AbortSignal): Promise<boolean> {
    const options = { signal, settings: LOCAL };
    const check = ['cat-file', '--batch-check=%(objecttype)'];
    const type = await this.#deps.git.text(check, { ...options, input: [commit] });
    if (type.trim() !== 'commit') return false;
    const left = await this.#deps.git.text(['rev-list', '--max-count=1', commit, `^${tip}`, '--'], options);
    return left.trim() === '';
  }

  async #isShallow(signal: AbortSignal): Promise<boolean> {
    return (await this.#deps.git.text(['rev-parse', '--is-shallow-repository'], { signal })).trim() === 'true';
  }

  /** Trees come too: who signed a change of the directory is told by them. */
  async #deepen(commits: number, signal: AbortSignal): Promise<boolean> {
    const { git, branch, logger } = this.#deps;
    const options = ['--no-tags', '--no-write-fetch-head', '--recurse-submodules=no', '--filter=blob:none'];
    try {
      await git.text(['fetch', ...options, `--deepen=${commits}`, 'origin', `refs/heads/${branch}`], { signal });
      return true;
    } catch (error) {
      signal.throwIfAborted();
      const fault = gitFaultOf(error);
      if (fault.kind !== 'broken') throw fault;
      logger.warn({ message: fault.message }, 'the Git copy cannot be deepened');
      return false;
    }
  }
}
