import type { BranchCopy } from '../../../git/branch-copy.ts';
import { BranchInPlace } from '../../../git/branch-in-place.ts';
import type { GitCredential } from '../../../git/git-credential.ts';
import { EMPTY_TREE_ID, ZERO_ID, type NewObject } from '../../../git/git-object.ts';
import { Mirror } from '../../../git/mirror.ts';
import { writePack } from '../../../git/pack.ts';
import type { Advertisement, Answered, FetchLike } from '../../../git/receive-pack.ts';
import type { GitRemote } from '../../../git/remote/git-remote.ts';
import { HttpRemote } from '../../../git/remote/http-remote.ts';
import type { Logger } from '../../../runtime/logger.ts';
import type { Tip } from './plan-chain.ts';

/** The commit at which the branch was once, and which its history no longer has. */
export interface RewrittenHistory {
  readonly before: string;
  readonly after: string;
}

export interface BranchWriterDeps {
  readonly repository: { readonly url: string; readonly branch: string; readonly localPath?: string };
  readonly mirrorPath: string;
  readonly logger: Logger;
  readonly fetchLike?: FetchLike;
  /** How another host is reached; default: over HTTP, by `fetchLike`. */
  readonly remote?: GitRemote;
}

/** What the embedded host can do; it need not be asked. */
const EMBEDDED_CAPABILITIES: ReadonlySet<string> = new Set(['report-status', 'side-band-64k']);

/**
 * One branch of one Git host as the writer knows it: where it is, what the host can do, and the copy of it to read from. The
 * tip is asked for once; after that every accepted push tells it, until one is turned away.
 */
export class BranchWriter implements AsyncDisposable {
  readonly #deps: BranchWriterDeps;
  readonly #ref: string;
  readonly #remote: GitRemote;
  readonly copy: BranchCopy;
  #capabilities: ReadonlySet<string> | undefined;
  #tip: Tip | undefined;
  /** Newest tip that this process has known, to tell a rewritten history from one that grew. */
  #lastTip: string | undefined;
  #rewritten: RewrittenHistory | undefined;

  constructor(deps: BranchWriterDeps) {
    this.#deps = deps;
    this.#ref = `refs/heads/${deps.repository.branch}`;
    const { url, branch, localPath } = deps.repository;
    const fetchLike = deps.fetchLike === undefined ? {} : { fetchLike: deps.fetchLike };
    this.#remote = deps.remote ?? new HttpRemote({ url, ...fetchLike });
    if (localPath === undefined) {
      this.copy = new Mirror({ path: deps.mirrorPath, url, remote: this.#remote, branch, logger: deps.logger });
    } else {
      this.copy = new BranchInPlace({ path: localPath, branch });
      this.#capabilities = EMBEDDED_CAPABILITIES;
    }
  }

  /** Newest tip that is known, whether or not it is so still; what this process pushed counts at once. */
  async lastKnownTip(): Promise<string | undefined> {
    return this.#lastTip ?? (await this.copy.tip());
  }

  async probe(credential: GitCredential, signal: AbortSignal): Promise<Answered<Advertisement>> {
    return this.#remote.advertise(credential, signal);
  }

  /** Where the branch is, from the host when it is not known. `rewritten`: what was delivered before may be gone. */
  async tip(
    credential: GitCredential,
    signal: AbortSignal,
  ): Promise<Answered<{ readonly tip: Tip; readonly rewritten: boolean }>> {
    if (this.#tip !== undefined) return { state: 'ok', value: { tip: this.#tip, rewritten: false } };
    let commit: string | undefined;
    if (this.#capabilities === undefined) {
      const advertised = await this.#remote.advertise(credential, signal);
      if (advertised.state === 'rejected') return advertised;
      this.#capabilities = advertised.value.capabilities;
      commit = advertised.value.refs.get(this.#ref);
      if (commit === undefined) return this.#found({ commit, root: EMPTY_TREE_ID }, false);
    }
    if (commit === undefined || commit !== (await this.copy.tip())) {
      const fetched = await this.copy.fetch(credential, signal);
      if (fetched.state === 'rejected') return fetched;
      commit = fetched.tip;
    }
    if (commit === undefined) return this.#found({ commit, root: EMPTY_TREE_ID }, this.#lastTip !== undefined);
    const rewritten = await this.#isRewritten(commit, signal);
    if (rewritten) {
      this.copy.noteRewritten();
      this.#rewritten = { before: this.#rewritten?.before ?? this.#lastTip ?? commit, after: commit };
      this.#deps.logger.warn(
        { before: this.#lastTip, after: commit, ref: this.#ref },
        'the branch was rewritten on the Git host; the writer goes on from its new tip',
      );
    }
    return this.#found({ commit, root: await this.copy.readTreeOfCommit(commit) }, rewritten);
  }

  /** What was found rewritten since this was asked for the last time. */
  takeRewritten(): RewrittenHistory | undefined {
    const rewritten = this.#rewritten;
    this.#rewritten = undefined;
    return rewritten;
  }

  /** Asks the host where the branch is now, whatever is known. Somebody else may have pushed. */
  async look(credential: GitCredential, signal: AbortSignal): Promise<Answered<Tip>> {
    if (this.#deps.repository.localPath !== undefined) {
      if ((await this.copy.tip()) !== this.#tip?.commit) this.#tip = undefined;
    } else {
      const advertised = await this.#remote.advertise(credential, signal);
      if (advertised.state === 'rejected') return advertised;
      this.#capabilities = advertised.value.capabilities;
      if (advertised.value.refs.get(this.#ref) !== this.#tip?.commit) this.#tip = undefined;
    }
    const found = await this.tip(credential, signal);
    return found.state === 'rejected' ? found : { state: 'ok', value: found.value.tip };
  }

  /** Moves the branch from the known tip to `next`. On anything but `ok` and `refused` the tip is unknown afterwards. */
  async push(
    next: Tip & { readonly commit: string },
    objects: readonly NewObject[],
    credential: GitCredential,
    signal: AbortSignal,
  ): Promise<Answered<undefined>> {
    const capabilities = this.#capabilities ?? new Set();
    const before = this.#tip;
    const pack = await writePack(objects, { thin: !capabilities.has('no-thin') });
    this.#tip = undefined;
    const push = { ref: this.#ref, oldId: before?.commit, newId: next.commit, pack, capabilities };
    const answer = await this.#remote.push(push, credential, signal);
    if (answer.state === 'ok') {
      this.copy.keep(objects, next.commit);
      this.#tip = next;
      this.#lastTip = next.commit;
    } else if (answer.rejection === 'refused') {
      this.#tip = before;
    }
    return answer;
  }

  /** Head of another branch, its commits in sight of the copy. Undefined: there is none. */
  async branchHead(
    branch: string,
    credential: GitCredential,
    signal: AbortSignal,
  ): Promise<Answered<string | undefined>> {
    const fetched = await this.copy.fetchBranch(branch, credential, signal);
    return fetched.state === 'rejected' ? fetched : { state: 'ok', value: fetched.tip };
  }

  /**
   * Moves a branch that is not the shared one from `before` to `after`, whatever lies between. The new commits stand on the
   * tip as it is known. `after` undefined deletes it. On anything but `ok` and `refused` the tip is unknown afterwards.
   */
  async moveBranch(
    move: {
      readonly branch: string;
      readonly before: string | undefined;
      readonly after: string | undefined;
      readonly objects: readonly NewObject[];
    },
    credential: GitCredential,
    signal: AbortSignal,
  ): Promise<Answered<undefined>> {
    const ref = `refs/heads/${move.branch}`;
    if (ref === this.#ref) throw new Error(`${ref} is the shared branch; it is never rewritten`);
    const capabilities = this.#capabilities ?? new Set();
    const pack =
      move.after === undefined
        ? Buffer.alloc(0)
        : await writePack(move.objects, { thin: !capabilities.has('no-thin') });
    const push = { ref, oldId: move.before, newId: move.after ?? ZERO_ID, pack, capabilities };
    const answer = await this.#remote.push(push, credential, signal);
    if (answer.state === 'rejected' && answer.rejection !== 'refused') this.#tip = undefined;
    return answer;
  }

  /** After the copy turned out to lack an object: what is known of the branch is found out again. */
  async startOver(): Promise<void> {
    this.#tip = undefined;
    await this.copy.reset();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.copy[Symbol.asyncDispose]();
  }

  #found(tip: Tip, rewritten: boolean): Answered<{ readonly tip: Tip; readonly rewritten: boolean }> {
    this.#tip = tip;
    this.#lastTip = tip.commit;
    return { state: 'ok', value: { tip, rewritten } };
  }

  async #isRewritten(commit: string, signal: AbortSignal): Promise<boolean> {
    const last = this.#lastTip;
    if (last === undefined || last === commit) return false;
    try {
      // Empty when nothing of the last known history is missing from the new one.
      return (await this.copy.query(['rev-list', '--max-count=1', last, `^${commit}`, '--'], signal)) !== '';
    } catch {
      signal.throwIfAborted();
      return true;
    }
  }
}
