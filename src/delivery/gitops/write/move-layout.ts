import { MissingObjectError } from '../../../git/branch-copy.ts';
import { commitMessage } from '../../../git/commit-message.ts';
import { commitObject, signedCommit, type CommitSigner, type Identity } from '../../../git/commit-object.ts';
import { moveDirectories, movesDoNotHold, type DirectoryMove, type MovedTree } from '../../../git/directory-moves.ts';
import { LAYOUT_MOVE_TRAILER } from '../../../git/embedded-host/check-move.ts';
import type { GitCredential } from '../../../git/git-credential.ts';
import { GitTree } from '../../../git/git-tree.ts';
import { isObjectId } from '../../../git/git-object.ts';
import type { Rejected } from '../../../git/rejection.ts';
import { backoffMs } from '../../../runtime/backoff.ts';
import type { Clock } from '../../../runtime/clock.ts';
import type { Logger } from '../../../runtime/logger.ts';
import type { BranchWriter } from './branch-writer.ts';
import { clusterDirectory, type RepositoryLayout } from '../layout.ts';
import type { LayoutMove, LayoutRecord } from './layout-record.ts';
import type { Tip } from './plan-chain.ts';

export interface MoveLayoutDeps {
  readonly writer: BranchWriter;
  readonly record: LayoutRecord;
  /** To read with. */
  readonly mintCredential: (scope: readonly [], signal: AbortSignal) => Promise<GitCredential>;
  /** To push one commit that moves exactly these directories. */
  readonly mintMove: (moves: readonly DirectoryMove[], signal: AbortSignal) => Promise<GitCredential>;
  readonly committer: Identity;
  readonly signCommit?: CommitSigner;
  readonly clock: Clock;
  readonly random: () => number;
  readonly logger: Logger;
}

/** What a move would do to the branch as it is. */
export interface LayoutPlan {
  readonly directories: number;
  /** A line for each thing in the way, which it names. Not empty: the move is refused. */
  readonly collisions: readonly string[];
}

const ATTEMPTS = 8;
const WAIT = { minMs: 20, maxMs: 4000 } as const;
const DAY_MS = 24 * 60 * 60 * 1000;

/**
 * Moves every cluster's directory of a repository to its place in the other layout. What is wanted stands in the record
 * first, so whoever has the repository next takes it up wherever it was left:
 *
 * ```
 * recorded ──► commit pushed ──► rows of the clusters, layout, record cleared
 *    │              └── crash: the commit is found by its trailer, only the rows are left to do
 *    └── something in the way: record cleared, nothing else changed
 * ```
 *
 * Not to be run twice at once, and not beside a delivery to the repository.
 */
export class MoveLayout {
  readonly #deps: MoveLayoutDeps;

  constructor(deps: MoveLayoutDeps) {
    this.#deps = deps;
  }

  /** Changes nothing. @throws Error when the remote cannot be read now */
  async plan(to: RepositoryLayout, signal: AbortSignal): Promise<LayoutPlan> {
    const { layout } = await this.#deps.record.current();
    const tip = await this.#look(signal);
    const { moved, collisions } = await this.#planOn(tip, await this.#moves(layout, to));
    return { directories: moved.length, collisions };
  }

  /**
   * Brings the recorded move to its end.
   *
   * @throws Error when that is not possible now: the record stays, and it is tried again
   */
  async finish(move: LayoutMove, signal: AbortSignal): Promise<void> {
    const { record, logger, clock, random } = this.#deps;
    const { layout } = await record.current();
    // Of its end only the rows of some clusters were left.
    if (layout === move.to) return await record.finish(move, {});
    const moves = await this.#moves(layout, move.to);
    for (let attempt = 1; ; attempt += 1) {
      const outcome = await this.#attempt(move, moves, signal);
      if (outcome.state === 'moved') {
        logger.info({ ...outcome, to: move.to }, 'the cluster directories have been moved');
        await record.finish(move, outcome);
        return;
      }
      if (outcome.state === 'collides') {
        logger.warn({ to: move.to, collisions: outcome.collisions.slice(0, 20) }, 'a move of the layout is given up');
        await record.giveUp(move, outcome.collisions.slice(0, 20).join('; '));
        return;
      }
      if (outcome.rejection === 'refused') {
        await record.giveUp(move, `the Git host refused it: ${outcome.message.slice(0, 500)}`);
        return;
      }
      if (attempt >= ATTEMPTS) throw new Error(outcome.message);
      await clock.sleep(backoffMs(WAIT, attempt, random), signal);
    }
  }

  async #attempt(
    move: LayoutMove,
    moves: readonly DirectoryMove[],
    signal: AbortSignal,
  ): Promise<
    | { readonly state: 'moved'; readonly commit?: string; readonly directories?: number }
    | { readonly state: 'collides'; readonly collisions: readonly string[] }
    | Rejected
  > {
    const { writer } = this.#deps;
    try {
      const tip = await this.#look(signal);
      const done = tip.commit === undefined ? undefined : await this.#findCommit(tip.commit, move, signal);
      if (done !== undefined) return { state: 'moved', commit: done };
      const tree = await this.#planOn(tip, moves);
      if (tree.collisions.length > 0) return { state: 'collides', collisions: tree.collisions };
      if (tree.moved.length === 0) {
        return { state: 'moved', directories: 0, ...(tip.commit === undefined ? {} : { commit: tip.commit }) };
      }
      const unsigned = commitObject({
        tree: tree.rootId,
        parent: tip.commit,
        identity: this.#deps.committer,
        at: this.#deps.clock.now(),
        message: commitMessage({
          subject: `Move ${tree.moved.length} cluster directories to the ${move.to} layout`,
          reason: 'Nothing in the directories is changed.',
          trailers: {
            [LAYOUT_MOVE_TRAILER]: move.to,
            [`${LAYOUT_MOVE_TRAILER}-Id`]: move.id,
            'Requested-By': move.requestedBy,
          },
        }),
      });
      const commit = await signedCommit(unsigned, this.#deps.signCommit);
      const credential = await this.#deps.mintMove(tree.moved, signal);
      const next = { commit: commit.id, root: tree.rootId };
      const pushed = await writer.push(next, [...tree.objects, commit], credential, signal);
      if (pushed.state === 'rejected') return pushed;
      return { state: 'moved', commit: commit.id, directories: tree.moved.length };
    } catch (error) {
      if (!(error instanceof MissingObjectError)) throw error;
      await writer.startOver();
      return { state: 'rejected', rejection: 'unavailable', message: error.message };
    }
  }

  async #planOn(tip: Tip, moves: readonly DirectoryMove[]): Promise<MovedTree> {
    const { copy } = this.#deps.writer;
    const readTree = copy.readTree.bind(copy);
    const tree = await moveDirectories(readTree, tip.root, moves);
    if (tree.collisions.length > 0) return tree;
    // The embedded host checks this too; here it holds on every host, and whatever the making got wrong.
    const made = new Map(tree.objects.map(({ id, bytes }) => [id, new GitTree(bytes)]));
    const fault = await movesDoNotHold(
      async (id) => made.get(id) ?? (await readTree(id)),
      tip.root,
      tree.rootId,
      moves,
    );
    return fault === undefined ? tree : { ...tree, collisions: [fault] };
  }

  async #look(signal: AbortSignal): Promise<Tip> {
    const { writer, mintCredential } = this.#deps;
    const looked = await writer.look(await mintCredential([], signal), signal);
    if (looked.state === 'rejected') throw new Error(looked.message);
    return looked.value;
  }

  /**
   * From where each cluster's directory is, by the layout that is on record. A place of another layout says nothing: there
   * it is the folder of many clusters, or one inside another cluster's directory.
   */
  async #moves(from: RepositoryLayout, to: RepositoryLayout): Promise<readonly DirectoryMove[]> {
    if (from === to) return [];
    const slugs = await this.#deps.record.slugs();
    return slugs.map((slug) => ({ from: clusterDirectory(from, slug), to: clusterDirectory(to, slug) }));
  }

  /** The commit that did this very move; a reason that quotes its id is no such commit. */
  async #findCommit(tip: string, move: LayoutMove, signal: AbortSignal): Promise<string | undefined> {
    const since = Math.max(0, Math.floor((new Date(move.requestedAt).getTime() - DAY_MS) / 1000));
    const trailer = `${LAYOUT_MOVE_TRAILER}-Id`;
    const args = ['log', '--no-color', '--no-decorate', '--no-show-signature', '--no-mailmap', '--fixed-strings'];
    const format = `--format=%H %(trailers:key=${trailer},valueonly,unfold,separator=%x2C)`;
    const range = [`--grep=${trailer}: ${move.id}`, `--since=${since}`, '--max-count=20', tip, '--'];
    const output = await this.#deps.writer.copy.query([...args, format, ...range], signal);
    const line = output.split('\n').find((text) => text.slice(41) === move.id && isObjectId(text.slice(0, 40)));
    return line?.slice(0, 40);
  }
}
