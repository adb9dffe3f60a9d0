import { AppError } from '../../protocol/app-error.ts';
import { EMPTY_TREE_ID } from '../../git/git-object.ts';
import type { Logger } from '../../runtime/logger.ts';
import { pinsIn } from '../store/proposals.ts';
import type { ProposalRow } from '../store/schema.ts';
import { isClosed } from './decide-review.ts';

/** Longest patch of one file that is shown, in UTF-16 units; a longer one is cut at a line. */
const MAX_PATCH = 256 * 1024;
const READ_TIMEOUT_MS = 30_000;

export interface FileDiff {
  readonly path: string;
  readonly status: 'added' | 'modified' | 'deleted';
  /** Blob ids; absent where there is none. */
  readonly before?: string;
  readonly after?: string;
  /** A unified diff, from its `---` on. */
  readonly patch: string;
  readonly truncated?: true;
}

export interface ProposalDiff {
  /** Commits; `base` is absent where the proposal is the first commit of its branch. */
  readonly base?: string;
  readonly head: string;
  /** What an approval of what is shown here has to name. */
  readonly revision: number;
  readonly files: readonly FileDiff[];
}

/** The part of a gitops transport that reads diffs. */
export interface DiffReader {
  diff(
    commits: { readonly branch: string | undefined; readonly base: string; readonly head: string },
    signal: AbortSignal,
  ): Promise<string>;
}

export interface ProposalDiffDeps {
  readonly open: (target: { readonly mode: 'gitops'; readonly repositoryId: string }) => Promise<DiffReader>;
  readonly logger: Logger;
}

/** What proposals change, read from Git itself: of a merged one the commit that the shared branch has. */
export class ProposalDiffs {
  readonly #deps: ProposalDiffDeps;

  constructor(deps: ProposalDiffDeps) {
    this.#deps = deps;
  }

  /** @throws AppError `conflict` when nothing of it is rendered, `unavailable` when Git cannot be read now */
  async of(row: ProposalRow, stop: AbortSignal): Promise<ProposalDiff> {
    const { merged_commit: merged, head_commit: head, base_commit: base } = row;
    if (head === null) throw new AppError('conflict', `proposal ${row.id} is not rendered yet`);
    // The commit that there is shows the revision before, which nobody may take for this one.
    if (!isClosed(row.state) && pinsIn(row).length === 0) {
      const message = `revision ${row.revision} is being rendered; look at it in a moment`;
      throw new AppError('conflict', `proposal ${row.id}: ${message}`);
    }
    const own = { branch: row.branch, base: base ?? EMPTY_TREE_ID, head };
    const commits = merged === null ? own : { branch: undefined, base: `${merged}^`, head: merged };
    const signal = AbortSignal.any([stop, AbortSignal.timeout(READ_TIMEOUT_MS)]);
    try {
      const reader = await this.#deps.open({ mode: 'gitops', repositoryId: row.repository_id });
      const text = await reader.diff(commits, signal).catch(async (error: unknown) => {
        // The first commit of the branch has nothing below it.
        if (merged === null || base !== null) throw error;
        return await reader.diff({ ...commits, base: EMPTY_TREE_ID }, signal);
      });
      const shownBase = merged === null ? base : commits.base;
      const files = parseDiff(text);
      // What is merged was looked at before, and may have come about in any way on its host.
      if (merged === null && !showsPins(files, row)) {
        const message =
          'its diff does not show all that would be merged; do not approve it, and read its branch with git itself';
        throw new AppError('conflict', `proposal ${row.id}: ${message}`);
      }
      return { ...(shownBase === null ? {} : { base: shownBase }), head: commits.head, revision: row.revision, files };
    } catch (error) {
      stop.throwIfAborted();
      if (error instanceof AppError) throw error;
      this.#deps.logger.warn({ err: error, proposalId: row.id }, 'the diff of a proposal cannot be read');
      const gone = row.branch_settled_at !== null && merged === null;
      const why = gone ? 'its branch was deleted when it was closed' : 'the repository cannot be read now; try again';
      throw new AppError(gone ? 'conflict' : 'unavailable', `proposal ${row.id}: ${why}`, { cause: error });
    }
  }
}

/**
 * Takes `git diff --full-index` apart into its files. A line ends at a line feed and nowhere else: a file may hold what
 * other readers take for the end of one, and would end its patch as it liked.
 */
export function parseDiff(text: string): FileDiff[] {
  return `\n${text}`
    .split('\ndiff --git ')
    .slice(1)
    .map((part, index, parts) => {
      const lines = (index < parts.length - 1 ? `${part}\n` : part).split('\n').slice(1);
      const patchAt = lines.findIndex((line) => line.startsWith('--- '));
      const header = patchAt === -1 ? lines : lines.slice(0, patchAt);
      const patch = patchAt === -1 ? '' : lines.slice(patchAt).join('\n');
      const blobs = header.find((line) => line.startsWith('index ')) ?? '';
      const [, before = '', after = ''] = /^index ([0-9a-f]+)\.\.([0-9a-f]+)/.exec(blobs) ?? [];
      const has = (start: string): boolean => header.some((line) => line.startsWith(start));
      const status = has('new file mode') ? 'added' : has('deleted file mode') ? 'deleted' : 'modified';
      const cut = patch.length <= MAX_PATCH ? patch : patch.slice(0, patch.lastIndexOf('\n', MAX_PATCH) + 1);
      return {
        path: pathIn(lines.slice(patchAt, patchAt + 2), status),
        status,
        ...(/^0+$/.test(before) ? {} : { before }),
        ...(/^0+$/.test(after) ? {} : { after }),
        patch: cut,
        ...(cut.length < patch.length ? { truncated: true as const } : {}),
      };
    });
}

function pathIn([before = '', after = '']: readonly string[], status: FileDiff['status']): string {
  const side = status === 'deleted' ? before.replace(/^--- (?:a\/)?/, '') : after.replace(/^\+{3} (?:b\/)?/, '');
  return side.replace(/\t$/, '');
}

/** Whether each pinned blob is in the diff with what it becomes. The first commit of a branch holds more than them. */
function showsPins(files: readonly FileDiff[], row: ProposalRow): boolean {
  return pinsIn(row).every(({ path, before, after }) =>
    files.some((file) => {
      const isIt = file.path.endsWith(`/${path}`) && file.before === before && file.after === after;
      return isIt && (file.patch !== '' || before === after);
    }),
  );
}
