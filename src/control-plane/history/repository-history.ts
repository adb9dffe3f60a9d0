import type { GitopsTarget } from '../../delivery/select-delivery.ts';
import { ProcessSlots } from '../../git/embedded-host/process-slots.ts';
import { isObjectId } from '../../git/git-object.ts';
import { GitProcessError } from '../../git/git-process.ts';
import { AppError } from '../../protocol/app-error.ts';
import { refusal } from '../../protocol/parse.ts';
import { parseBlame, type BlamedLine } from './blame-lines.ts';
import { filePatches, type FilePatches, type GitQuery } from './file-patches.ts';
import { parseCommits, type GitCommit } from './git-commit.ts';

/** The part of a gitops transport that reads the branch. */
export interface HistoryReader {
  read<Value>(work: (query: GitQuery, tip: string | undefined) => Promise<Value>, signal: AbortSignal): Promise<Value>;
}

export interface RepositoryHistoryDeps {
  readonly open: (target: GitopsTarget) => Promise<HistoryReader>;
}

const PROCESSES = 3;
const MAX_WAITING = 24;
const TIMEOUT_MS = 30_000;
const READ_COMMITS = ['rev-list', '--header'];

/** Reads what happened in a repository, from the bare repository or from this process's mirror of another host's. */
export class RepositoryHistory {
  readonly #deps: RepositoryHistoryDeps;
  readonly #slots = new ProcessSlots({ limit: PROCESSES, maxWaiting: MAX_WAITING });

  constructor(deps: RepositoryHistoryDeps) {
    this.#deps = deps;
  }

  /**
   * Commits of the branch that changed one of the paths, the newest first. Pages are of one and the same history: `tip` is
   * the one that the first page began at.
   *
   * @throws AppError `constraint_violated` when `tip` is not to be had any more
   */
  async commits(
    repositoryId: string,
    page: {
      readonly paths: readonly string[];
      readonly limit: number;
      readonly after: { readonly tip: string; readonly skip: number } | undefined;
    },
  ): Promise<{ readonly tip: string; readonly commits: readonly GitCommit[] }> {
    return await this.#read(repositoryId, async (query, branch, signal) => {
      const tip = page.after?.tip ?? branch;
      if (tip === undefined) return { tip: '', commits: [] };
      const range = [`--max-count=${page.limit}`, `--skip=${page.after?.skip ?? 0}`, tip, '--', ...page.paths];
      try {
        return { tip, commits: parseCommits(await query([...READ_COMMITS, ...range], signal)) };
      } catch (error) {
        if (page.after === undefined || !isRefusal(error)) throw error;
        throw refusal([{ path: '/cursor', message: 'is of a history that was rewritten; begin with the first page' }]);
      }
    });
  }

  /** One commit by its id or the beginning of it, or `HEAD`, with its bytes; undefined where there is none, or several. */
  async commit(
    repositoryId: string,
    id: string,
  ): Promise<{ readonly commit: GitCommit; readonly patches: FilePatches; readonly bytes: Buffer } | undefined> {
    return await this.#read(repositoryId, async (query, tip, signal) => {
      const found = await resolve(query, id, tip, signal);
      if (found === undefined) return undefined;
      const [commit] = parseCommits(await query([...READ_COMMITS, '--no-walk', found, '--'], signal));
      if (commit === undefined) return undefined;
      const bytes = Buffer.from(await query(['cat-file', 'commit', found], signal), 'utf8');
      const patches = await filePatches(query, { from: commit.parents[0], to: found }, signal);
      return { commit, patches, bytes };
    });
  }

  /** What differs between two commits; undefined where one of them is not there. */
  async diff(
    repositoryId: string,
    range: { readonly from: string; readonly to: string; readonly paths: readonly string[] },
  ): Promise<(FilePatches & { readonly base: string; readonly head: string }) | undefined> {
    return await this.#read(repositoryId, async (query, tip, signal) => {
      const base = await resolve(query, range.from, tip, signal);
      const head = await resolve(query, range.to, tip, signal);
      if (base === undefined || head === undefined) return undefined;
      const patches = await filePatches(query, { from: base, to: head, paths: range.paths }, signal);
      return { base, head, ...patches };
    });
  }

  /** Which commit brought each line of a file as it stands; undefined where there is no such file. */
  async blame(
    repositoryId: string,
    path: string,
  ): Promise<{ readonly lines: readonly BlamedLine[]; readonly commits: ReadonlyMap<string, GitCommit> } | undefined> {
    return await this.#read(repositoryId, async (query, tip, signal) => {
      if (tip === undefined) return undefined;
      const there = await query(['ls-tree', '--name-only', '-z', '--full-tree', tip, '--', path], signal);
      if (there === '') return undefined;
      const lines = parseBlame(await query(['blame', '--porcelain', tip, '--', path], signal));
      const ids = [...new Set(lines.map(({ commit }) => commit))];
      const commits =
        ids.length === 0 ? [] : parseCommits(await query([...READ_COMMITS, '--no-walk', ...ids, '--'], signal));
      return { lines, commits: new Map(commits.map((commit) => [commit.id, commit])) };
    });
  }

  async #read<Value>(
    repositoryId: string,
    work: (query: GitQuery, tip: string | undefined, signal: AbortSignal) => Promise<Value>,
  ): Promise<Value> {
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    using slot = await this.#slots.acquire({ urgent: false, signal });
    if (slot === undefined) throw new AppError('unavailable', 'too many read the history at once; try again');
    try {
      const reader = await this.#deps.open({ mode: 'gitops', repositoryId });
      return await reader.read(async (query, tip) => await work(query, tip, signal), signal);
    } catch (error) {
      if (!signal.aborted) throw error;
      throw new AppError('unavailable', `the history was not read within ${TIMEOUT_MS / 1000} s`, { cause: error });
    }
  }
}

/** The whole id of a commit; `HEAD` is the tip of the branch. */
async function resolve(
  query: GitQuery,
  id: string,
  tip: string | undefined,
  signal: AbortSignal,
): Promise<string | undefined> {
  if (id === 'HEAD') return tip;
  try {
    const found = (
      await query(['rev-parse', '--verify', '--quiet', '--end-of-options', `${id}^{commit}`], signal)
    ).trim();
    return isObjectId(found) ? found : undefined;
  } catch (error) {
    if (isRefusal(error)) return undefined;
    throw error;
  }
}

/** Git ran and did not find what it was asked for. */
function isRefusal(error: unknown): boolean {
  return error instanceof GitProcessError && error.exitCode !== null;
}
