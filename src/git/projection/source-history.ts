import { EMPTY_TREE_ID, isObjectId, objectId } from '../git-object.ts';
import { GitTree } from '../git-tree.ts';
import type { RepositoryReader } from '../repository-reader.ts';
import { isAncestor, type Stretch } from './stretches.ts';

/**
 * How many commits of the shared repository are looked through for those of one cluster, at the most. What is older comes
 * as one commit with the state of then: looking through a hundred thousand commits costs minutes, and each new projection
 * would have to.
 */
export const MAX_SOURCE_COMMITS = 500;

/** A commit of the shared repository, and where the cluster's directory is in it. */
export interface PlacedCommit {
  readonly commit: string;
  readonly directory: string;
}

/** The commits of the shared repository that a projection is still to be brought, oldest first. */
export type SourceHistory =
  | {
      readonly state: 'grown';
      /** Where the look began when that is later than what the projection holds: only its state is told; with the stretches from there back. */
      readonly base: (PlacedCommit & { readonly stretches: readonly Stretch[] }) | undefined;
      /** Each changed the directory from what it was in its first parent, at the same place. */
      readonly commits: readonly PlacedCommit[];
    }
  /** What the projection was made of is no part of the history any more. */
  | { readonly state: 'rewritten' };

/** @param known commit that the projection's tip was made of; undefined for a new one */
export async function sourceHistory(
  reader: RepositoryReader,
  request: {
    readonly tip: string;
    readonly known: string | undefined;
    readonly stretches: readonly [Stretch, ...Stretch[]];
  },
  signal: AbortSignal,
): Promise<SourceHistory> {
  const { tip, known, stretches } = request;
  if (known !== undefined && !(await isAncestor(reader, known, tip, signal))) return { state: 'rewritten' };
  const window = await commitsDown(reader, tip, signal);
  const bound = window[MAX_SOURCE_COMMITS];
  const reachesBack =
    bound === undefined || (known !== undefined && bound !== known && (await isAncestor(reader, bound, known, signal)));
  const from = reachesBack ? known : bound;
  const at = new Map(window.map((id, index) => [id, index]));
  const begins: number[] = [];
  for (const { since } of stretches) {
    const index = since === undefined ? Infinity : (at.get(since) ?? (await isBefore(since)));
    // It came in beside the first parents: where in the list the place changed cannot be told.
    if (index === undefined) return { state: 'grown', base: placedAt(tip, 0), commits: [] };
    begins.push(index);
  }
  function placedAt(commit: string, index: number): PlacedCommit & { readonly stretches: readonly Stretch[] } {
    return { commit, directory: (stretches[index] ?? stretches[0]).directory, stretches: stretches.slice(index) };
  }
  async function isBefore(since: string): Promise<number | undefined> {
    return bound !== undefined && (await isAncestor(reader, since, bound, signal)) ? Infinity : undefined;
  }

  const start = from === undefined ? undefined : (at.get(from) ?? Infinity);
  const placed: (PlacedCommit & { readonly index: number })[] = [];
  let newer = -1;
  for (const [index, { directory }] of stretches.entries()) {
    const begin = begins[index] ?? Infinity;
    if (newer < window.length && (start === undefined || newer < start)) {
      const list = await changesOf(reader, { tip, from, directory }, signal);
      // The move itself changes nothing.
      for (const commit of list) {
        const position = at.get(commit) ?? Infinity;
        if (position > newer && position < begin) placed.push({ commit, directory, index: position });
      }
    }
    newer = begin;
  }
  const commits = placed.toSorted((a, b) => b.index - a.index);
  const oldest = stretches.at(-1);
  // What is before the oldest stretch is nobody's.
  if (oldest?.since !== undefined && newer < (start ?? Infinity)) {
    return { state: 'grown', base: placedAt(oldest.since, stretches.length - 1), commits };
  }
  if (from === undefined || from === known) return { state: 'grown', base: undefined, commits };
  const stretch = begins.findIndex((begin) => begin >= (start ?? Infinity));
  return { state: 'grown', base: placedAt(from, stretch), commits };
}

/** Tree of a cluster's directory at a commit; the empty tree when it has none. */
export async function directoryTree(
  reader: Pick<RepositoryReader, 'find'>,
  { commit, directory }: PlacedCommit,
): Promise<string> {
  const bytes = await reader.find(`${commit}:${directory}`, 'tree');
  if (bytes === undefined || !isDirectoryOfCluster(directory, new GitTree(bytes))) return EMPTY_TREE_ID;
  return objectId('tree', bytes);
}

/**
 * Where the record says that `clusters/ab` is a cluster's, and somebody has sharded the repository by hand, that is the
 * folder of many clusters. What is written for a cluster always has a README beside it; a shard has none.
 */
export function isDirectoryOfCluster(directory: string, tree: Pick<GitTree, 'get'>): boolean {
  return !/^clusters\/[0-9a-f]{2}$/.test(directory) || tree.get('README.md')?.mode === '100644';
}

/** The tip and what is below it by first parents: as many as are looked through, and the one before them. */
async function commitsDown(reader: RepositoryReader, tip: string, signal: AbortSignal): Promise<readonly string[]> {
  const args = ['rev-list', '--first-parent', `--max-count=${MAX_SOURCE_COMMITS + 1}`, tip, '--'];
  return idsOf(await reader.git(args, signal));
}

/** The commits by first parents that changed the directory, the newest first. */
export async function changesOf(
  reader: Pick<RepositoryReader, 'git'>,
  request: {
    readonly tip: string;
    readonly from: string | undefined;
    readonly directory: string;
    readonly max?: number;
  },
  signal: AbortSignal,
): Promise<readonly string[]> {
  const { tip, from, directory, max } = request;
  const range = [tip, ...(from === undefined ? [] : [`^${from}`])];
  const most = max === undefined ? [] : [`--max-count=${max}`];
  return idsOf(await reader.git(['rev-list', '--first-parent', ...most, ...range, '--', directory], signal));
}

function idsOf(list: Buffer): readonly string[] {
  return list.toString('latin1').split('\n').filter(isObjectId);
}
