import { EMPTY_TREE_ID, isObjectId, objectId } from '../git-object.ts';
import { GitProcessError } from '../git-process.ts';
import type { GitTree } from '../git-tree.ts';
import { GitTree as Tree } from '../git-tree.ts';
import type { RepositoryReader } from '../repository-reader.ts';

/**
 * How many commits of the shared repository are looked through for those of one cluster, at the most. What is older comes
 * as one commit with the state of then: looking through a hundred thousand commits costs minutes, and each new projection
 * would have to.
 */
export const MAX_SOURCE_COMMITS = 500;

/** The commits of the shared repository that a projection is still to be brought, oldest first. */
export type SourceHistory =
  | {
      readonly state: 'grown';
      /** Where the look began when that is later than what the projection holds: only its state is told. */
      readonly base: string | undefined;
      readonly commits: readonly string[];
    }
  /** What the projection was made of is no part of the history any more. */
  | { readonly state: 'rewritten' };

/** @param known commit that the projection's tip was made of; undefined for a new one */
export async function sourceHistory(
  reader: RepositoryReader,
  request: { readonly tip: string; readonly known: string | undefined; readonly directories: readonly string[] },
  signal: AbortSignal,
): Promise<SourceHistory> {
  const { tip, known, directories } = request;
  if (known !== undefined && !(await isAncestor(reader, known, tip, signal))) return { state: 'rewritten' };
  const bound = await commitBefore(reader, tip, MAX_SOURCE_COMMITS, signal);
  const reachesBack =
    bound === undefined || (known !== undefined && bound !== known && (await isAncestor(reader, bound, known, signal)));
  const from = reachesBack ? known : bound;
  const range = from === undefined ? [tip] : [tip, `^${from}`];
  const list = await reader.git(['rev-list', '--first-parent', '--reverse', ...range, '--', ...directories], signal);
  return {
    state: 'grown',
    base: from === known ? undefined : from,
    commits: list.toString('latin1').split('\n').filter(isObjectId),
  };
}

/**
 * Tree of a cluster's directory at a commit; the empty tree when it has none. The first of the directories that is there
 * counts: a repository may have been moved to another layout.
 */
export async function directoryTree(
  reader: RepositoryReader,
  commit: string,
  directories: readonly string[],
): Promise<string> {
  for (const directory of directories) {
    const bytes = await reader.find(`${commit}:${directory}`, 'tree');
    if (bytes !== undefined && isDirectoryOfCluster(directory, new Tree(bytes))) return objectId('tree', bytes);
  }
  return EMPTY_TREE_ID;
}

/**
 * The places of a cluster's directory in both layouts, the present one first. In a sharded repository `clusters/ab` is
 * the folder of many clusters, and in a flat one it may be the directory of a cluster called `ab`: only the README, which
 * each cluster's directory has and no shard, tells them apart.
 */
export function isDirectoryOfCluster(directory: string, tree: Pick<GitTree, 'get'>): boolean {
  return !/^clusters\/[0-9a-f]{2}$/.test(directory) || tree.get('README.md')?.mode === '100644';
}

async function commitBefore(
  reader: RepositoryReader,
  tip: string,
  steps: number,
  signal: AbortSignal,
): Promise<string | undefined> {
  const list = await reader.git(['rev-list', '--first-parent', `--skip=${steps}`, '--max-count=1', tip, '--'], signal);
  const id = list.toString('latin1').trim();
  return isObjectId(id) ? id : undefined;
}

async function isAncestor(
  reader: RepositoryReader,
  ancestor: string,
  commit: string,
  signal: AbortSignal,
): Promise<boolean> {
  try {
    await reader.git(['merge-base', '--is-ancestor', ancestor, commit], signal);
    return true;
  } catch (error) {
    signal.throwIfAborted();
    // 1: it is not; 128: it is not even here.
    if (error instanceof GitProcessError && error.exitCode !== null) return false;
    throw error;
  }
}
