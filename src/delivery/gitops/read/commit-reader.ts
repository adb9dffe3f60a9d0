import { objectId } from '../../../git/git-object.ts';
import type { GitCommand } from './git-command.ts';
import { GitFault, gitFaultOf } from './git-fault.ts';

/** A commit of the copy, as its object is. */
export interface HistoryCommit {
  readonly id: string;
  readonly bytes: Buffer;
  /** Its first parent, which need not be in the copy; undefined for a root. */
  readonly parent: string | undefined;
}

/** Commits, the newest first; `ends` where the copy holds no parent of the last one. */
export interface Line {
  readonly ids: readonly string[];
  readonly ends: boolean;
}

/** What is missing is not fetched: what a commit says is only asked of those that are here. */
const LOCAL = ['remote.origin.promisor=false'];
/** Of commits that are read at once. */
const CHUNK = 500;

/** Reads commits, and what they make of one directory, from a local copy. */
export class CommitReader {
  readonly #git: GitCommand;
  readonly #path: string;

  constructor(deps: { readonly git: GitCommand; readonly path: string }) {
    this.#git = deps.git;
    this.#path = deps.path;
  }

  /** Those that are there, in the order asked for. @throws GitFault when one is not what its id says */
  async read(ids: readonly string[], signal: AbortSignal): Promise<readonly HistoryCommit[]> {
    const found: HistoryCommit[] = [];
    for (let at = 0; at < ids.length; at += CHUNK) {
      const input = ids.slice(at, at + CHUNK);
      found.push(...readCommits(await this.#git.bytes(['--batch'], { signal, input })));
    }
    return found;
  }

  /** The newest commits from `tip` down its first parents, as far as the copy goes, and whether it goes no further. */
  async line(tip: string, most: number, signal: AbortSignal): Promise<Line> {
    return await this.#list([tip], most, signal);
  }

  /**
   * From `tip` down its first parents, without what `last` can reach.
   *
   * @throws GitFault where there are more than `most` of them
   */
  async since(tip: string, last: string, most: number, signal: AbortSignal): Promise<Line> {
    const line = await this.#list([tip, `^${last}`], most + 1, signal);
    if (line.ids.length > most) {
      throw new GitFault(
        'untrusted',
        `more than ${most} commits were made since ${last.slice(0, 12)}, too many to verify`,
      );
    }
    return line;
  }

  async #list(range: readonly string[], most: number, signal: AbortSignal): Promise<Line> {
    const args = ['rev-list', '--first-parent', '--parents', '--ignore-missing', `--max-count=${most}`, ...range, '--'];
    const output = await this.#git.text(args, { signal, settings: LOCAL });
    const lines = output.split('\n').filter((line) => line !== '');
    const ids = lines.map((line) => line.split(' ')[0] ?? '');
    // Git shows no parent of where a shallow copy ends; what the commit itself says is another matter.
    return { ids, ends: lines.at(-1)?.includes(' ') === false };
  }

  /** Tree id of the directory by commit; one is left out where the commit or the directory is not there. @throws GitFault */
  async directories(commits: readonly string[], signal: AbortSignal): Promise<ReadonlyMap<string, string>> {
    const found = new Map<string, string>();
    if (commits.length === 0) return found;
    const input = commits.map((commit) => (this.#path === '' ? `${commit}^{tree}` : `${commit}:${this.#path}`));
    const args = ['cat-file', '--batch-check=%(objectname)'];
    const lines = (await this.#git.text(args, { signal, input, settings: LOCAL })).split('\n');
    for (const [index, commit] of commits.entries()) {
      const line = lines[index] ?? '';
      if (/^[0-9a-f]+$/.test(line)) found.set(commit, line);
    }
    return found;
  }
}

/** Output of `cat-file --batch`: `<id> commit <size>`, a newline, so many bytes, a newline; `<id> missing`. */
function readCommits(output: Buffer): readonly HistoryCommit[] {
  const commits: HistoryCommit[] = [];
  let at = 0;
  while (at < output.length) {
    const end = output.indexOf(0x0a, at);
    if (end === -1) throw gitFaultOf(new Error('the list of commits ends early'));
    const [id = '', type = '', size = ''] = output.toString('latin1', at, end).split(' ');
    at = end + 1;
    if (type === 'missing') continue;
    const bytes = output.subarray(at, at + Number(size));
    if (type !== 'commit' || objectId('commit', bytes) !== id) {
      throw new GitFault('broken', `object ${id} is not the commit that its id says`);
    }
    commits.push({ id, bytes, parent: /^tree \w+\nparent (\w+)\n/.exec(bytes.toString('latin1', 0, 200))?.[1] });
    at += Number(size) + 1;
  }
  return commits;
}
