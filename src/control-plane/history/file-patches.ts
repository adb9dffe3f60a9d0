import { GitProcessError } from '../../git/git-process.ts';

/** Runs a reading git command. */
export type GitQuery = (args: readonly string[], signal: AbortSignal) => Promise<string>;

/** One changed file. */
export interface FilePatch {
  readonly path: string;
  readonly status: 'added' | 'removed' | 'modified';
  /** Unified, from its `diff --git` line on; absent where it is too large to be shown. */
  readonly patch?: string;
}

export interface FilePatches {
  readonly files: readonly FilePatch[];
  /** There is more than is shown. */
  readonly truncated: boolean;
}

const MAX_FILES = 200;
const MAX_PATCH_CHARACTERS = 128 * 1024;
const MAX_ALL_CHARACTERS = 2 * 1024 * 1024;
const PLAIN = [
  '--no-color',
  '--no-renames',
  '--no-ext-diff',
  '--no-textconv',
  '--text',
  '-r',
  '--no-commit-id',
  '--root',
];
const STATUS = { A: 'added', D: 'removed' } as const;

/** What differs between two commits or trees, or, without `from`, what a root commit brings. */
export async function filePatches(
  query: GitQuery,
  range: { readonly from: string | undefined; readonly to: string; readonly paths?: readonly string[] },
  signal: AbortSignal,
): Promise<FilePatches> {
  const ends = range.from === undefined ? [range.to] : [range.from, range.to];
  const limit = (paths: readonly string[]): string[] => ['--', ...paths.map((path) => `:(top,literal)${path}`)];
  try {
    const names = await query(
      ['diff-tree', ...PLAIN, '--name-status', '-z', ...ends, ...limit(range.paths ?? [])],
      signal,
    );
    const all = parseNames(names);
    const files = all.slice(0, MAX_FILES);
    if (files.length === 0) return { files, truncated: false };
    const ask = async (paths: readonly string[]): Promise<string> =>
      await query(['diff-tree', ...PLAIN, '-p', ...ends, ...limit(paths)], signal);
    const patches = await patchesOf(
      ask,
      files.map(({ path }) => path),
      signal,
    );
    return bounded(files, patches, all.length > files.length);
  } catch (error) {
    // It moves or imports very much at once.
    if (!isTooMuch(error, signal)) throw error;
    return { files: [], truncated: true };
  }
}

/** Of each file; undefined where it alone is more than a process may say. Small files are not lost for a large one. */
async function patchesOf(
  ask: (paths: readonly string[]) => Promise<string>,
  paths: readonly string[],
  signal: AbortSignal,
): Promise<readonly (string | undefined)[]> {
  try {
    const text = await ask(paths);
    // A line of a file begins with a space, a sign or a backslash, so this is where a file's patch begins.
    // Only a line feed ends one: a file may hold what a regular expression takes for the end of a line.
    const parts = `\n${text}`.split('\ndiff --git ').slice(1);
    const patches = parts.map((part, at) => `diff --git ${part}${at < parts.length - 1 ? '\n' : ''}`);
    return patches.length === paths.length ? patches : paths.map(() => undefined);
  } catch (error) {
    if (!isTooMuch(error, signal)) throw error;
    if (paths.length === 1) return [undefined];
    const half = Math.ceil(paths.length / 2);
    const first = await patchesOf(ask, paths.slice(0, half), signal);
    return [...first, ...(await patchesOf(ask, paths.slice(half), signal))];
  }
}

/** More than a process may say. */
function isTooMuch(error: unknown, signal: AbortSignal): boolean {
  signal.throwIfAborted();
  return error instanceof GitProcessError && error.exitCode === null;
}

function parseNames(output: string): FilePatch[] {
  const parts = output.split('\0');
  const files: FilePatch[] = [];
  for (let at = 0; at + 1 < parts.length; at += 2) {
    const letter = parts[at] ?? '';
    const status = letter === 'A' || letter === 'D' ? STATUS[letter] : 'modified';
    files.push({ path: parts[at + 1] ?? '', status });
  }
  return files;
}

function bounded(files: readonly FilePatch[], patches: readonly (string | undefined)[], more: boolean): FilePatches {
  let left = MAX_ALL_CHARACTERS;
  let truncated = more;
  const shown = files.map((file, index) => {
    const patch = patches[index];
    if (patch === undefined || patch.length > Math.min(left, MAX_PATCH_CHARACTERS)) {
      truncated = true;
      return file;
    }
    left -= patch.length;
    return { ...file, patch };
  });
  return { files: shown, truncated };
}
