import type { CommitSigner, Identity } from '../../../git/commit-object.ts';
import type { ScopeEntry } from '../../../git/embedded-host/git-access.ts';
import type { GitCredential } from '../../../git/git-credential.ts';
import type { FetchLike } from '../../../git/receive-pack.ts';
import type { GitRemote } from '../../../git/remote/git-remote.ts';
import type { RenderTarget } from '../../../intent/rendered.ts';
import { AppError } from '../../../protocol/app-error.ts';
import type { Clock } from '../../../runtime/clock.ts';
import type { Logger } from '../../../runtime/logger.ts';
import type { Delivery, DeliveryItem, Probe, Receipt } from '../../delivery.ts';
import { BranchReadings, type ProposalStanding, type ProposedChange } from './branch-readings.ts';
import { BranchWriter, type RewrittenHistory } from './branch-writer.ts';
import { DeliverBatch } from './deliver-batch.ts';
import type { DirectoryMove } from '../../../git/directory-moves.ts';
import type { FileFate, WrittenFile } from './inspect-branch.ts';
import type { LayoutRecord } from './layout-record.ts';
import { clusterDirectory, type RepositoryLayout } from '../layout.ts';
import { MoveLayout, type LayoutPlan } from './move-layout.ts';
import { pushesOf } from './pushes-of.ts';

export interface GitopsDeliveryDeps {
  readonly repository: {
    readonly name: string;
    readonly url: string;
    readonly branch: string;
    readonly layout: RepositoryLayout;
    /** Folder of the bare repository where the embedded host serves it: then it is read there, and no mirror is made. */
    readonly localPath?: string;
  };
  /** Folder of this process's bare mirror of the branch; not used with `localPath`. */
  readonly mirrorPath: string;
  /** A write credential for exactly these directories; an empty scope is asked for to probe and to read. */
  readonly mintCredential: (scope: readonly ScopeEntry[], signal: AbortSignal) => Promise<GitCredential>;
  /** How the repository's layout is moved; default: it never is. */
  readonly layouts?: {
    readonly record: LayoutRecord;
    /** A write credential for one commit that moves exactly these directories. */
    readonly mintMove: (moves: readonly DirectoryMove[], signal: AbortSignal) => Promise<GitCredential>;
  };
  readonly committer: Identity;
  /** Signs every commit; the same signature for the same bytes, as a chain that is planned again must be the same. */
  readonly signCommit?: CommitSigner;
  readonly clock: Clock;
  readonly random: () => number;
  readonly logger: Logger;
  readonly fetchLike?: FetchLike;
  /** How another host is reached; default: over HTTP, by `fetchLike`. */
  readonly remote?: GitRemote;
  /** Intents in one push. Default and most 200. */
  readonly maxBatch?: number;
}

const MAX_BATCH = 200;
/**
 * Delivers intents by Git: one commit each, many in one push, never a force. Deliveries to one repository take turns,
 * in the order in which they were asked for.
 */
export class GitopsDelivery implements Delivery {
  readonly #deps: GitopsDeliveryDeps;
  readonly #writer: BranchWriter;
  readonly #batches: DeliverBatch;
  readonly #readings: BranchReadings;
  readonly #mover: MoveLayout | undefined;
  readonly #maxBatch: number;
  #layout: RepositoryLayout;
  #turn: Promise<void> = Promise.resolve();

  constructor(deps: GitopsDeliveryDeps) {
    this.#deps = deps;
    this.#maxBatch = Math.max(1, Math.min(deps.maxBatch ?? MAX_BATCH, MAX_BATCH));
    this.#writer = new BranchWriter(deps);
    this.#layout = deps.repository.layout;
    this.#readings = new BranchReadings({ name: deps.repository.name, writer: this.#writer, logger: deps.logger });
    this.#batches = new DeliverBatch({ ...deps, writer: this.#writer, layout: () => this.#layout });
    const { layouts } = deps;
    this.#mover = layouts === undefined ? undefined : new MoveLayout({ ...deps, ...layouts, writer: this.#writer });
  }

  async probe(signal: AbortSignal): Promise<Probe> {
    const credential = await this.#deps.mintCredential([], signal);
    const answer = await this.#writer.probe(credential, signal);
    if (answer.state === 'ok') return { state: 'ready' };
    return { state: answer.rejection === 'auth' ? 'forbidden' : 'unreachable', message: answer.message };
  }

  /**
   * What lands on the branch goes first, in one push; then each proposal to its own branch, so that receipts which are true
   * wait for none of them.
   */
  async *deliver(batch: readonly DeliveryItem[], signal: AbortSignal): AsyncGenerator<Receipt, void, undefined> {
    const direct = batch.filter(({ review }) => review?.kind !== 'propose');
    for (const slice of pushesOf(direct, this.#maxBatch)) {
      yield* await this.#inTurn(async () => {
        await this.#settle(signal);
        return await this.#batches.land(slice, signal);
      });
    }
    const failed = new Map<string, string>();
    for (const item of batch) {
      const { review, target } = item;
      if (review?.kind !== 'propose') continue;
      const known = failed.get(target.clusterId);
      if (known !== undefined) {
        yield { state: 'retry', intentId: item.intent.id, message: known };
        continue;
      }
      const receipts = await this.#inTurn(async () => {
        await this.#settle(signal);
        return await this.#batches.propose(item, review, signal);
      });
      // One proposal is waited for, not each of a cluster that has a hundred.
      for (const receipt of receipts) if (receipt.state === 'retry') failed.set(target.clusterId, receipt.message);
      yield* receipts;
    }
  }

  /**
   * Deletes the branch of a proposal that is closed. `changed`: it is at another commit than `head` and was left alone.
   *
   * @throws Error when the remote cannot be asked now, or does not let the branch go
   */
  async forget(
    proposal: Pick<RenderTarget, 'clusterId' | 'slug'> & { readonly branch: string; readonly head: string },
    signal: AbortSignal,
  ): Promise<'gone' | 'changed'> {
    const { clusterId, slug, branch, head } = proposal;
    const directory = clusterDirectory(this.#layout, slug);
    const credential = await this.#deps.mintCredential([{ clusterId, directory }], signal);
    return await this.#inTurn(async () => {
      const found = await this.#writer.branchHead(branch, credential, signal);
      if (found.state === 'rejected') throw new Error(`${this.#deps.repository.name}: ${found.message}`);
      if (found.value === undefined) return 'gone';
      if (found.value !== head) return 'changed';
      const move = { branch, before: head, after: undefined, objects: [] };
      const moved = await this.#writer.moveBranch(move, credential, signal);
      if (moved.state === 'ok') return 'gone';
      throw new Error(`${this.#deps.repository.name}: the branch ${branch} is not deleted: ${moved.message}`);
    });
  }

  /**
   * Where the branch holds what a proposal would bring, whoever merged it and as whichever commit (merge, squash, rebase):
   * that commit, and the tree id of the cluster's directory. Undefined: not yet. Reads only.
   *
   * @throws Error when the remote cannot be read now
   */
  async landed(
    proposal: ProposedChange,
    signal: AbortSignal,
  ): Promise<{ readonly commit: string; readonly revision: string } | undefined> {
    const found = await this.standing(proposal, undefined, signal);
    return found.state === 'landed' ? found : undefined;
  }

  /**
   * How the branch stands to a proposal. `merge`: the commit by which its Git host says that it was merged; one that holds it
   * counts though the branch has gone on since. `hasMerge`: the branch has that commit. Reads only.
   *
   * @throws Error when the remote cannot be read now
   */
  async standing(
    { intent, slug, pins }: ProposedChange,
    merge: string | undefined,
    signal: AbortSignal,
  ): Promise<ProposalStanding> {
    const credential = await this.#deps.mintCredential([], signal);
    const layout = async (): Promise<RepositoryLayout> => await this.#readLayout();
    return await this.#inTurn(
      async () => await this.#readings.standing({ intent, slug, pins }, merge, { credential, layout, signal }),
    );
  }

  /**
   * What `git diff` says of two commits. `branch`: where `head` is found; absent: on the shared branch.
   *
   * @throws Error when the remote cannot be read now, or does not have the commits any more
   */
  async diff(
    { branch, base, head }: { readonly branch: string | undefined; readonly base: string; readonly head: string },
    signal: AbortSignal,
  ): Promise<string> {
    const credential = await this.#deps.mintCredential([], signal);
    return await this.#inTurn(async () => await this.#readings.diff({ branch, base, head }, credential, signal));
  }

  /**
   * Tree ids of the directories at the remote's tip, whoever wrote it; a directory that is not there is left out.
   *
   * @throws Error when the remote cannot be read now
   */
  async observe(directories: readonly string[], signal: AbortSignal): Promise<ReadonlyMap<string, string>> {
    const credential = await this.#deps.mintCredential([], signal);
    return await this.#inTurn(async () => await this.#readings.observe(directories, credential, signal));
  }

  /**
   * What became of files that were written.
   *
   * @throws Error when the remote cannot be read now
   */
  async inspect(
    files: readonly WrittenFile[],
    signal: AbortSignal,
  ): Promise<{ readonly fates: readonly FileFate[]; readonly tip: string | undefined }> {
    const credential = await this.#deps.mintCredential([], signal);
    return await this.#inTurn(async () => await this.#readings.inspect(files, credential, signal));
  }

  /** Where the branch was before its history was rewritten, if it was since this was asked for the last time. */
  takeRewritten(): RewrittenHistory | undefined {
    return this.#writer.takeRewritten();
  }

  /** What a move to the layout would do. Changes nothing. @throws Error when the remote cannot be read now */
  async planLayout(to: RepositoryLayout, signal: AbortSignal): Promise<LayoutPlan> {
    const mover = this.#mover;
    if (mover === undefined) throw new Error(`the layout of ${this.#deps.repository.name} is not on record`);
    return await this.#inTurn(async () => await mover.plan(to, signal));
  }

  /**
   * Brings a recorded move of the layout to its end. To be called by who alone writes to the repository.
   *
   * @throws Error when that is not possible now
   */
  async settleLayout(signal: AbortSignal): Promise<void> {
    await this.#inTurn(async () => await this.#settle(signal));
  }

  /** Reads the branch with git, as it was last known where its host does not answer. @throws AppError `unavailable` */
  async read<Value>(
    work: (
      query: (args: readonly string[], signal: AbortSignal) => Promise<string>,
      tip: string | undefined,
    ) => Promise<Value>,
    signal: AbortSignal,
  ): Promise<Value> {
    const { copy } = this.#writer;
    const silence = this.#deps.repository.localPath === undefined ? await this.#lookAgain(signal) : undefined;
    if (silence !== undefined) {
      const message = `the Git host of ${this.#deps.repository.name} does not answer`;
      if ((await this.#writer.lastKnownTip()) === undefined)
        throw new AppError('unavailable', `${message}: ${silence}`);
      this.#deps.logger.warn({ why: silence }, `${message}; its history is read as it was last known`);
    }
    // Another replica may have pushed to a repository that is read in place.
    const tip = this.#deps.repository.localPath === undefined ? await this.#writer.lastKnownTip() : await copy.tip();
    return await work(async (args, until) => await copy.query(args, until), tip);
  }

  /** Keeps the local copy fast. To be called now and then; deliveries go on meanwhile. */
  async maintain(signal: AbortSignal): Promise<void> {
    await this.#writer.copy.maintain(signal);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#turn;
    await this.#writer[Symbol.asyncDispose]();
  }

  /** Brings the copy up to date. Answers why that was not possible. */
  async #lookAgain(signal: AbortSignal): Promise<string | undefined> {
    try {
      const credential = await this.#deps.mintCredential([], signal);
      const looked = await this.#inTurn(async () => await this.#writer.look(credential, signal));
      return looked.state === 'rejected' ? looked.message : undefined;
    } catch (error) {
      signal.throwIfAborted();
      return error instanceof Error ? error.message : 'unknown error';
    }
  }

  /** Before anything is written: in which layout, and not beside a move that is half done. */
  async #settle(signal: AbortSignal): Promise<void> {
    const move = (await this.#deps.layouts?.record.current())?.move;
    if (move !== undefined) await this.#mover?.finish(move, signal);
    await this.#readLayout();
  }

  /** Any process may have moved it. */
  async #readLayout(): Promise<RepositoryLayout> {
    this.#layout = (await this.#deps.layouts?.record.current())?.layout ?? this.#layout;
    return this.#layout;
  }

  async #inTurn<Value>(work: () => Promise<Value>): Promise<Value> {
    const result = this.#turn.then(work);
    this.#turn = result.then(
      () => undefined,
      () => undefined,
    );
    return result;
  }
}
