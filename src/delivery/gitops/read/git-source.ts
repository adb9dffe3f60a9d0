import { Reason } from '../../../resources/reasons.ts';
import { backoffMs } from '../../../runtime/backoff.ts';
import type { Clock } from '../../../runtime/clock.ts';
import type { Logger } from '../../../runtime/logger.ts';
import { Wake } from '../../../runtime/wake.ts';
import type { DesiredSet, Outcome, Source } from '../../delivery.ts';
import { copyCondition, type CopyCondition } from './copy-report.ts';
import type { Fetched } from './git-cache.ts';
import { GitCopies } from './git-copies.ts';
import { GitFault, gitFaultOf } from './git-fault.ts';
import type { GitTarget } from './git-target.ts';
import { RemovalJudge, type RemovalJudgeDeps, type Tip } from './removal-judge.ts';

export interface GitSourceDeps extends RemovalJudgeDeps {
  /** Holds the copy; nothing in it may not be lost. */
  readonly stateDir: string;
  readonly clock: Clock;
  readonly random: () => number;
  readonly logger: Logger;
  /** The branch was rewritten; the message names both commits. */
  readonly onRewritten?: (message: string) => void;
  /** The cluster itself requires signed commits, whatever `/config` says. */
  readonly requiresSignedCommits?: () => boolean;
  /** What a copy turned out to hold. */
  readonly onCopy?: (condition: CopyCondition) => void;
  /** Look at the remote after so long without being told to (default 5 minutes), up to a fifth later. */
  readonly pollMs?: number;
  /** `file:` remotes, for tests. */
  readonly allowFile?: boolean;
}

const RETRY = { minMs: 1000, maxMs: 60_000 };
/** The host may show a commit a moment after the control plane named it. */
const CATCH_UP = { minMs: 100, maxMs: 30_000 };
/** A credential that was just made may answer 401 or 404 for so long. */
const CREDENTIAL_GRACE_MS = 30_000;
const POLL_MS = 300_000;

/** Operator's end of gitops: fetches when `/config` names a revision that was not read yet, and otherwise hardly ever. */
export class GitSource implements Source {
  readonly #deps: GitSourceDeps;
  readonly #wake = new Wake();
  #target: GitTarget | undefined;
  readonly #copies: GitCopies;
  readonly #judge: RemovalJudge;
  #credentialSince = 0;
  /** How often the mode was left. */
  #stay = 0;
  #lastCommit: string | undefined;
  /** What was handed over last, and what it was judged by. */
  #handedOver: { readonly revision: string; readonly circumstances: string; readonly commit: string } | undefined;
  #lastFault: string | undefined;
  /** What was applied since is of no file that was read last. */
  #isOutrun = false;

  constructor(deps: GitSourceDeps) {
    this.#deps = deps;
    const { stateDir, logger, allowFile } = deps;
    this.#copies = new GitCopies({
      stateDir,
      logger,
      credential: () => this.#target?.credential,
      ...(allowFile === undefined ? {} : { allowFile }),
    });
    this.#judge = new RemovalJudge(deps);
  }

  /** What `/config` says now; undefined outside gitops mode. */
  update(target: GitTarget | undefined): void {
    if (target === undefined) this.#leave();
    if (secretOf(target) !== secretOf(this.#target)) {
      this.#credentialSince = this.#deps.clock.now().getTime();
    }
    this.#target = target;
    this.#wake.ring();
  }

  /** When the cluster comes back to this mode nothing counts as handed over, and no file as one that was there. */
  #leave(): void {
    this.#stay += 1;
    this.#handedOver = undefined;
    this.#lastFault = undefined;
    this.#judge.leave();
  }

  /** What a person accepts has changed. */
  lookAgain(): void {
    this.#wake.ring();
  }

  async *desired(signal: AbortSignal): AsyncIterable<DesiredSet> {
    let failures = 0;
    let behind = 0;
    let pause = 0;
    let due = 0;
    const now = (): number => this.#deps.clock.now().getTime();
    const rest = (ms: number): void => {
      pause = ms;
      due = now() + ms;
    };
    while (!signal.aborted) {
      const before = this.#target?.desiredRevision;
      const rung =
        pause > 0 ? await this.#wake.waitAtMost(Math.max(1, due - now()), this.#deps.clock, signal) : 'elapsed';
      const target = this.#wanted();
      if (target === undefined) {
        await this.#wake.wait(signal);
        pause = 0;
        continue;
      }
      const isDue = rung === 'elapsed' || now() >= due;
      if (!isDue && target.desiredRevision === before && this.#isUpToDate(target)) continue;
      const stay = this.#stay;
      const reading = await this.#read(target, signal);
      if (stay !== this.#stay) {
        // Read for a mode that the cluster has left since.
        this.#leave();
        pause = 0;
        continue;
      }
      const poll = (this.#deps.pollMs ?? POLL_MS) * (1 + this.#deps.random() / 5);
      if (reading.state === 'failed') {
        if (this.#isBeforeFirstCommit(target, reading.fault)) {
          rest(poll);
          continue;
        }
        failures += 1;
        const set = this.#faultSet(target, reading.fault);
        if (set !== undefined) yield set;
        rest(backoffMs(RETRY, failures, this.#deps.random));
        continue;
      }
      failures = 0;
      if (reading.set !== undefined) yield reading.set;
      await this.#inspect(target, signal);
      const desired = this.#target?.desiredRevision;
      const caughtUp = desired === undefined || desired === reading.revision;
      behind = caughtUp ? 0 : behind + 1;
      rest(caughtUp ? poll : Math.min(poll, backoffMs(CATCH_UP, behind, this.#deps.random)));
    }
  }

  /** As `/config` says, and as the cluster's own admin tightens it: of signers that nobody names none counts. */
  #wanted(): GitTarget | undefined {
    const target = this.#target;
    if (target === undefined || target.allowedSigners !== undefined) return target;
    return this.#deps.requiresSignedCommits?.() === true ? { ...target, allowedSigners: [] } : target;
  }

  /** Nothing that `/config` or a person says asks for more than was handed over. */
  #isUpToDate(target: GitTarget): boolean {
    if (this.#lastFault !== undefined || this.#handedOver === undefined || this.#isOutrun) return false;
    const { revision, circumstances } = this.#handedOver;
    const isRead = target.desiredRevision === undefined || target.desiredRevision === revision;
    return isRead && circumstances === this.#judge.circumstances(target);
  }

  /** A branch that nobody has named a revision of need not be there yet; the copy waits for it. */
  #isBeforeFirstCommit({ desiredRevision }: GitTarget, { kind }: GitFault): boolean {
    return kind === 'no_branch' && desiredRevision === undefined && this.#deps.applied().length === 0;
  }

  // Git has nobody to tell: the revision is recorded in the Cluster's status, and the events carry it.
  async settle(key: string, { state }: Outcome): Promise<void> {
    if ((state !== 'applied' && state !== 'unchanged') || this.#judge.isKnown(key)) return;
    this.#isOutrun = true;
    this.#wake.ring();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#target = undefined;
    this.#wake.ring();
    await this.#copies[Symbol.asyncDispose]();
  }

  async #read(
    target: GitTarget,
    signal: AbortSignal,
  ): Promise<
    | { readonly state: 'read'; readonly revision: string; readonly set: DesiredSet | undefined }
    | { readonly state: 'failed'; readonly fault: GitFault }
  > {
    try {
      const { cache, reader, verifier, descent } = await this.#copies.open(target);
      const { desiredRevision } = target;
      const isNews = desiredRevision !== undefined && desiredRevision !== this.#handedOver?.revision;
      const fetched = await cache.fetch(signal, isNews);
      const { commit } = fetched;
      this.#noteRewrite(fetched, target);
      const untrusted = await verifier.refusal(commit, target, signal);
      if (untrusted !== undefined) throw new GitFault('untrusted', untrusted);
      const circumstances = this.#judge.circumstances(target);
      const tip: Tip = { commit, goesOnFrom: (from) => descent.isShown(from, commit, signal) };
      const isAsBefore =
        !this.#isOutrun && this.#lastFault === undefined && this.#handedOver?.circumstances === circumstances;
      const last = isAsBefore ? this.#handedOver : undefined;
      // The same commit is the same directory, and another one mostly is too: then no file is looked at.
      const revision = commit === last?.commit ? last.revision : await reader.revision(commit, signal);
      if (revision === last?.revision && (commit === last.commit || (await this.#judge.follow(target, tip)))) {
        this.#handedOver = { revision, circumstances, commit };
        return { state: 'read', revision, set: undefined };
      }
      const directory = await reader.read(commit, signal);
      const isNothingYet = directory.paths.length === 0 && directory.removals.length === 0;
      if (isNothingYet && target.desiredRevision === undefined && this.#deps.applied().length === 0) {
        return { state: 'read', revision, set: undefined };
      }
      this.#isOutrun = false;
      const set = await this.#judge.judge(directory, target, tip);
      this.#handedOver = { revision, circumstances, commit };
      this.#lastFault = undefined;
      return { state: 'read', revision, set };
    } catch (error) {
      signal.throwIfAborted();
      return { state: 'failed', fault: gitFaultOf(error) };
    }
  }

  /** A set that brings nothing but the fault; undefined for one that was told already, or that will pass by itself. */
  #faultSet(target: GitTarget, fault: GitFault): DesiredSet | undefined {
    const age = this.#deps.clock.now().getTime() - this.#credentialSince;
    this.#deps.logger.warn(
      { kind: fault.kind, url: target.url, message: fault.message },
      'the Git source cannot be read',
    );
    if (fault.kind === 'unauthorized' && age < CREDENTIAL_GRACE_MS) return undefined;
    const message = explain(target, fault);
    if (message === this.#lastFault) return undefined;
    this.#lastFault = message;
    return {
      ...(this.#handedOver === undefined ? {} : { revision: this.#handedOver.revision }),
      scope: 'partial',
      objects: [],
      removals: [],
      faults: [{ key: target.path === '' ? target.branch : target.path, reason: reasonOf(fault), message }],
    };
  }

  /** After what was read is on its way: nothing waits for it. */
  async #inspect(target: GitTarget, signal: AbortSignal): Promise<void> {
    const commit = this.#lastCommit;
    try {
      const { cache } = await this.#copies.open(target);
      if (commit === undefined || !cache.isUninspected) return;
      this.#deps.onCopy?.(copyCondition(await cache.inspect(commit, signal)));
    } catch (error) {
      signal.throwIfAborted();
      this.#deps.logger.warn({ err: error }, 'the Git copy cannot be looked through; it is tried again');
    }
  }

  #noteRewrite(fetched: Fetched, target: GitTarget): void {
    const before = this.#lastCommit;
    this.#lastCommit = fetched.commit;
    if (!fetched.rewritten) return;
    const from = before === undefined ? '' : ` from ${before.slice(0, 12)}`;
    const message = `the history of ${target.branch} was rewritten${from} to ${fetched.commit.slice(0, 12)}; the new tree is read as it is and nothing is removed for it`;
    this.#deps.logger.warn({ commit: fetched.commit }, message);
    this.#deps.onRewritten?.(message);
  }
}

function reasonOf({ kind }: GitFault): Reason {
  return kind === 'untrusted' ? Reason.CommitNotTrusted : Reason.SourceUnreachable;
}

function explain({ url, branch, path }: GitTarget, fault: GitFault): string {
  switch (fault.kind) {
    case 'unauthorized':
      return `${url} does not take the read credential or does not show the repository to it: ${fault.message}. What is applied stays.`;
    case 'no_branch':
      return `${url} has no branch ${branch}: ${fault.message}. What is applied stays.`;
    case 'unreachable':
      return `${url} cannot be reached: ${fault.message}. What is applied stays.`;
    case 'misconfigured':
      return `${fault.message}. What is applied stays.`;
    case 'untrusted':
      return `${fault.message}. Nothing of ${branch} at ${url} is read until one is there that is signed as it must be, or somebody vouches for the revision. What is applied stays.`;
    case 'broken':
      return `the directory ${path} of ${url} cannot be read: ${fault.message}. What is applied stays.`;
  }
}

function secretOf(target: GitTarget | undefined): string | undefined {
  return target?.credential?.ssh_private_key ?? target?.credential?.password;
}
