import type { BranchCopy } from '../../../git/branch-copy.ts';
import { isObjectId } from '../../../git/git-object.ts';

/** A file that a commit of ours wrote: the commit of its receipt, and the path from the repository's root. */
export interface WrittenFile {
  readonly commit: string;
  readonly path: string;
}

/**
 * What became of it: `lost` with a rewritten history, `edited` or `deleted` by a later commit of somebody else; `kept`
 * also where the commit does not say what it wrote (the directory has moved since).
 */
export type FileFate = 'kept' | 'lost' | 'edited' | 'deleted';

/**
 * Compares what stands at `tip` with what the commits wrote, in three git processes however many files there are. Any
 * file that a newer commit of ours wrote must be named with that one.
 */
export async function inspectFiles(
  copy: BranchCopy,
  tip: string | undefined,
  files: readonly WrittenFile[],
  signal: AbortSignal,
): Promise<readonly FileFate[]> {
  if (files.length === 0) return [];
  if (tip === undefined) return files.map(() => 'lost');
  const lost = await lostCommits(copy, tip, [...new Set(files.map(({ commit }) => commit))], signal);
  const ids = await idsOf(
    copy,
    files.flatMap(({ commit, path }) => [`${commit}:${path}`, `${tip}:${path}`]),
    signal,
  );
  return files.map(({ commit }, index) => {
    if (lost.has(commit)) return 'lost';
    const [wrote, stands] = [ids[2 * index], ids[2 * index + 1]];
    if (wrote === undefined || wrote === stands) return 'kept';
    return stands === undefined ? 'deleted' : 'edited';
  });
}

/** Those of the commits that are not in the history of `tip`, gone from the repository or only from the branch. */
async function lostCommits(
  copy: BranchCopy,
  tip: string,
  commits: readonly string[],
  signal: AbortSignal,
): Promise<ReadonlySet<string>> {
  const known = await idsOf(copy, commits, signal);
  const there = commits.filter((_, index) => known[index] !== undefined);
  const lost = new Set(commits.filter((_, index) => known[index] === undefined));
  if (there.length === 0) return lost;
  const output = await copy.query(['rev-list', '--stdin'], signal, [...there, `^${tip}`, ''].join('\n'));
  const outside = new Set(output.split('\n'));
  for (const commit of there) if (outside.has(commit)) lost.add(commit);
  return lost;
}

/** Object id of each expression; undefined where it names nothing. */
async function idsOf(
  copy: BranchCopy,
  expressions: readonly string[],
  signal: AbortSignal,
): Promise<readonly (string | undefined)[]> {
  const format = '--batch-check=%(objectname)';
  const output = await copy.query(['cat-file', format], signal, `${expressions.join('\n')}\n`);
  return output.split('\n').map((line) => (isObjectId(line) ? line : undefined));
}
