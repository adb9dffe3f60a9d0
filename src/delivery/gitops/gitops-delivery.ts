import type { CommitSigner, Identity } from '../../git/commit-object.ts';
import type { ScopeEntry } from '../../git/embedded-host/git-access.ts';
import type { GitCredential } from '../../git/git-credential.ts';
import { MODE_DIRECTORY } from '../../git/git-tree.ts';
import { findEntry, TreeEditError } from '../../git/tree-edit.ts';
import type { FetchLike } from '../../git/receive-pack.ts';
import type { Rendered } from '../../intent/rendered.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Logger } from '../../runtime/logger.ts';
import type { Delivery, Probe, Receipt } from '../delivery.ts';
import { BranchWriter } from './branch-writer.ts';
import { DeliverBatch } from './deliver-batch.ts';
import type { RepositoryLayout } from './layout.ts';

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
  readonly committer: Identity;
  /** Signs every commit; the same signature for the same bytes, as a chain that is planned again must be the same. */
  readonly signCommit?: CommitSigner;
  readonly clock: Clock;
  readonly random: () => number;
  readonly logger: Logger;
  readonly fetchLike?: FetchLike;
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
  readonly #maxBatch: number;
  #turn: Promise<void> = Promise.resolve();

  constructor(deps: GitopsDeliveryDeps) {
    this.#deps = deps;
    this.#maxBatch = Math.max(1, Math.min(deps.maxBatch ?? MAX_BATCH, MAX_BATCH));
    this.#writer = new BranchWriter(deps);
    this.#batches = new DeliverBatch({ ...deps, writer: this.#writer, layout: deps.repository.layout });
  }

  async probe(signal: AbortSignal): Promise<Probe> {
    const credential = await this.#deps.mintCredential([], signal);
    const answer = await this.#writer.probe(credential, signal);
    if (answer.state === 'ok') return { state: 'ready' };
    return { state: answer.rejection === 'auth' ? 'forbidden' : 'unreachable', message: answer.message };
  }

  async *deliver(batch: readonly Rendered[], signal: AbortSignal): AsyncGenerator<Receipt, void, undefined> {
    for (let at = 0; at < batch.length; at += this.#maxBatch) {
      const slice = batch.slice(at, at + this.#maxBatch);
      yield* await this.#inTurn(async () => this.#batches.run(slice, signal));
    }
  }

  /**
   * Tree ids of the directories at the remote's tip, whoever wrote it; a directory that is not there is left out.
   *
   * @throws Error when the remote cannot be read now
   */
  async observe(directories: readonly string[], signal: AbortSignal): Promise<ReadonlyMap<string, string>> {
    const credential = await this.#deps.mintCredential([], signal);
    return await this.#inTurn(async () => {
      const looked = await this.#writer.look(credential, signal);
      if (looked.state === 'rejected') throw new Error(`${this.#deps.repository.name}: ${looked.message}`);
      const found = new Map<string, string>();
      for (const directory of directories) {
        const id = await this.#treeAt(looked.value.root, directory);
        if (id !== undefined) found.set(directory, id);
      }
      return found;
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#turn;
    await this.#writer[Symbol.asyncDispose]();
  }

  /** Undefined too where somebody put a file or a link in the way: that is one cluster's trouble, not the others'. */
  async #treeAt(root: string, directory: string): Promise<string | undefined> {
    try {
      const entry = await findEntry(this.#writer.copy, root, directory);
      return entry?.mode === MODE_DIRECTORY ? entry.id : undefined;
    } catch (error) {
      if (!(error instanceof TreeEditError)) throw error;
      this.#deps.logger.warn({ err: error, directory }, 'a cluster directory cannot be read');
      return undefined;
    }
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
