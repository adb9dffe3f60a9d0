import { parentsOfCommit, treeOfCommit } from '../commit-object.ts';
import { readTrailers } from '../commit-message.ts';
import { movesDoNotHold, type DirectoryMove } from '../directory-moves.ts';
import { GitTree } from '../git-tree.ts';
import { runGit } from '../git-process.ts';
import type { PushFault } from './check-push.ts';

/** Says in a commit that it moves every cluster's directory, and to which layout. */
export const LAYOUT_MOVE_TRAILER = 'Layout-Move';

/** Of one tree; it has an entry for each cluster. */
const MAX_OBJECT_BYTES = 64 * 1024 * 1024;

/**
 * The last word on what a credential for moving directories may push: one commit on the old tip that says so in its trailer
 * and whose tree is the old one with exactly those directories at their new places, each as it was. Reads the trees above
 * the directories and nothing of what is in them.
 */
export async function checkMove(push: {
  readonly oldId: string | undefined;
  readonly newId: string;
  readonly moves: readonly DirectoryMove[];
  readonly git: { readonly cwd: string; readonly env: Readonly<Record<string, string>>; readonly signal: AbortSignal };
}): Promise<PushFault | undefined> {
  const { oldId, newId, moves, git } = push;
  const read = async (id: string): Promise<Buffer> =>
    await runGit(['cat-file', id === oldId || id === newId ? 'commit' : 'tree', id], {
      ...git,
      maxOutputBytes: MAX_OBJECT_BYTES,
    });
  const refused = (text: string): PushFault => ({ kind: 'refused', lines: [`refused: commit ${newId}: ${text}`] });
  if (oldId === undefined) return refused('there is nothing to move yet');
  const commit = await read(newId);
  const parents = parentsOfCommit(commit);
  if (parents.length !== 1 || parents[0] !== oldId) {
    return { kind: 'moved', text: 'non-fast-forward: the commit does not stand on the tip of the branch; fetch first' };
  }
  const text = commit.toString('utf8');
  if (!readTrailers(text.slice(text.indexOf('\n\n') + 2)).has(LAYOUT_MOVE_TRAILER)) {
    return refused(`it has no ${LAYOUT_MOVE_TRAILER} trailer; this credential moves directories and nothing else`);
  }
  const readTree = async (id: string): Promise<GitTree> => new GitTree(await read(id));
  const fault = await movesDoNotHold(readTree, treeOfCommit(await read(oldId)), treeOfCommit(commit), moves);
  return fault === undefined ? undefined : refused(`it does more or less than move the directories: ${fault}`);
}
