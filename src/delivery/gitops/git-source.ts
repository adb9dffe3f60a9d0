import { createHash } from 'node:crypto';
import { mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { MAX_MANIFEST_BYTES } from '../../intent/rendered.ts';
import { Reason } from '../../resources/reasons.ts';
import { backoffMs } from '../../runtime/backoff.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Logger } from '../../runtime/logger.ts';
import { Wake } from '../../runtime/wake.ts';
import type { DesiredSet, Outcome, Source } from '../delivery.ts';
import { DirectoryReader } from './directory-reader.ts';
import { GitCache } from './git-cache.ts';
import { gitEnvironment } from './git-environment.ts';
import { GitFault, gitFaultOf } from './git-fault.ts';
import { targetIsUnusable, type GitTarget } from './git-target.ts';
import { DEFAULT_BREAKER, mostFilesVanished, type BreakerLimits } from './removal-breaker.ts';

export interface GitSourceDeps {
  /** Holds the copy; nothing in it may not be lost. */
  readonly stateDir: string;
  readonly clock: Clock;
  readonly random: () => number;
  readonly logger: Logger;
  /** Paths of the manifests whose objects are applied now. */
  readonly applied: () => readonly string[];
  /** A revision whose vanished files a person accepted. */
  readonly acceptedRevision?: () => string | undefined;
  /** The branch was rewritten; the message names both commits. */
  readonly onRewritten?: (message: string) => void;
  readonly breaker?: BreakerLimits;
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
  #cache: { readonly key: string; readonly cache: GitCache; readonly reader: DirectoryReader } | undefined;
  #credentialSince = 0;
  #caFile: string | undefined;
  #lastCommit: string | undefined;
  #lastKeys: readonly string[] | undefined;
  /** Last revision that was handed over whole, and last fault. */
  #handedOver: string | undefined;
  #lastFault: string | undefined;

  constructor(deps: GitSourceDeps) {
    this.#deps = deps;
  }

  /** What `/config` says now; undefined outside gitops mode. */
  update(target: GitTarget | undefined): void {
    if (target?.credential?.password !== this.#target?.credential?.password) {
      this.#credentialSince = this.#deps.clock.now().getTime();
    }
    this.#target = target;
    this.#wake.ring();
  }

  /** What a person accepts has changed. */
  lookAgain(): void {
    this.#wake.ring();
  }

  async *desired(signal: AbortSignal): AsyncIterable<DesiredSet> {
    let failures = 0;
    let behind = 0;
    let pause = 0;
    while (!signal.aborted) {
      const before = this.#target?.desiredRevision;
      const rung = pause > 0 ? await this.#wake.waitAtMost(pause, this.#deps.clock, signal) : 'elapsed';
      const target = this.#target;
      if (target?.desiredRevision === undefined) {
        if (target !== undefined) await this.#prepare(target, signal);
        await this.#wake.wait(signal);
        pause = 0;
        continue;
      }
      const idle = before === this.#handedOver && this.#lastFault === undefined;
      if (rung === 'rung' && target.desiredRevision === before && idle) continue;
      const reading = await this.#read(target, signal);
      if (reading.state === 'failed') {
        failures += 1;
        const set = this.#faultSet(target, reading.fault);
        if (set !== undefined) yield set;
        pause = backoffMs(RETRY, failures, this.#deps.random);
        continue;
      }
      failures = 0;
      if (reading.set !== undefined) yield reading.set;
      const caughtUp = this.#target?.desiredRevision === reading.revision;
      behind = caughtUp ? 0 : behind + 1;
      const poll = (this.#deps.pollMs ?? POLL_MS) * (1 + this.#deps.random() / 5);
      pause = caughtUp ? poll : Math.min(poll, backoffMs(CATCH_UP, behind, this.#deps.random));
    }
  }

  // Git has nobody to tell: the revision is recorded in the Cluster's status, and the events carry it.
  async settle(_key: string, _outcome: Outcome): Promise<void> {}

  async [Symbol.asyncDispose](): Promise<void> {
    this.#target = undefined;
    this.#wake.ring();
  }

  async #read(
    target: GitTarget,
    signal: AbortSignal,
  ): Promise<
    | { readonly state: 'read'; readonly revision: string; readonly set: DesiredSet | undefined }
    | { readonly state: 'failed'; readonly fault: GitFault }
  > {
    try {
      const { cache, reader } = await this.#open(target);
      const fetched = await cache.fetch(signal);
      this.#noteRewrite(fetched, target);
      const { revision, objects, removals, faults, paths } = await reader.read(fetched.commit, signal);
      if (revision === this.#handedOver && this.#lastFault === undefined)
        return { state: 'read', revision, set: undefined };
      const held = this.#heldBack({ revision, paths, removals, path: target.path });
      const set: DesiredSet = {
        revision,
        scope: held === undefined ? 'complete' : 'partial',
        objects,
        removals,
        faults: held === undefined ? faults : [held, ...faults],
      };
      this.#handedOver = revision;
      this.#lastFault = held?.message;
      if (held === undefined) this.#lastKeys = paths;
      return { state: 'read', revision, set };
    } catch (error) {
      signal.throwIfAborted();
      return { state: 'failed', fault: gitFaultOf(error) };
    }
  }

  /** Before the first commit: what can be done of the first sync is done. Whatever fails here fails there again. */
  async #prepare(target: GitTarget, signal: AbortSignal): Promise<void> {
    try {
      await (await this.#open(target)).cache.prepare(signal);
    } catch (error) {
      signal.throwIfAborted();
      this.#deps.logger.debug({ err: error }, 'the Git copy cannot be prepared yet');
    }
  }

  #heldBack(listing: {
    readonly revision: string;
    readonly paths: readonly string[];
    readonly removals: DesiredSet['removals'];
    readonly path: string;
  }): DesiredSet['faults'][number] | undefined {
    const { revision, paths, removals, path } = listing;
    if (this.#deps.acceptedRevision?.() === revision) return undefined;
    // Only what was applied can be lost: a file that never could be is cleaned up freely. After the first listing what
    // had vanished by then, and was reported, is not counted again.
    const applied = this.#deps.applied();
    const known = this.#lastKeys === undefined ? undefined : new Set(this.#lastKeys);
    const before = known === undefined ? applied : applied.filter((key) => known.has(key));
    const buried = new Set(removals.map(({ tombstone }) => `${tombstone.namespace}/${tombstone.name}`));
    const situation = { before, present: new Set(paths), buried, path, revision };
    return mostFilesVanished(situation, this.#deps.breaker ?? DEFAULT_BREAKER);
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
      ...(this.#handedOver === undefined ? {} : { revision: this.#handedOver }),
      scope: 'partial',
      objects: [],
      removals: [],
      faults: [{ key: target.path, reason: Reason.SourceUnreachable, message }],
    };
  }

  #noteRewrite(fetched: { readonly commit: string; readonly rewritten: boolean }, target: GitTarget): void {
    const before = this.#lastCommit;
    this.#lastCommit = fetched.commit;
    if (!fetched.rewritten) return;
    const from = before === undefined ? '' : ` from ${before.slice(0, 12)}`;
    const message = `the history of ${target.branch} was rewritten${from} to ${fetched.commit.slice(0, 12)}; the new tree is read as it is and nothing is removed for it`;
    this.#deps.logger.warn({ commit: fetched.commit }, message);
    this.#deps.onRewritten?.(message);
  }

  async #open(target: GitTarget): Promise<{ readonly cache: GitCache; readonly reader: DirectoryReader }> {
    const unusable = targetIsUnusable(target, this.#deps.allowFile === true);
    if (unusable !== undefined) throw new GitFault('misconfigured', unusable);
    await this.#writeCa(target.caCertificate ?? '');
    const key = createHash('sha256')
      .update(`${target.url}\n${target.branch}\n${target.path}`)
      .digest('hex')
      .slice(0, 16);
    if (this.#cache?.key === key) return this.#cache;
    await this.#discardOthers(key);
    const { url, branch, path } = target;
    const cache = new GitCache({
      directory: join(this.#deps.stateDir, 'git', key),
      url,
      branch,
      path,
      environment: () =>
        gitEnvironment({
          url,
          home: this.#deps.stateDir,
          ...(this.#target?.credential === undefined ? {} : { credential: this.#target.credential }),
          ...(this.#caFile === undefined ? {} : { caFile: this.#caFile }),
          ...(this.#deps.allowFile === undefined ? {} : { allowFile: this.#deps.allowFile }),
        }),
      logger: this.#deps.logger,
    });
    const reader = new DirectoryReader({ cache, path, maxBytes: MAX_MANIFEST_BYTES });
    this.#cache = { key, cache, reader };
    return this.#cache;
  }

  /** Copies of what was read before, by this process or an earlier one. */
  async #discardOthers(key: string): Promise<void> {
    const folder = join(this.#deps.stateDir, 'git');
    const copies = await readdir(folder).catch(() => []);
    for (const copy of copies) if (copy !== key) await rm(join(folder, copy), { recursive: true, force: true });
  }

  async #writeCa(pem: string): Promise<void> {
    if (pem.trim() === '') {
      this.#caFile = undefined;
      return;
    }
    const file = join(this.#deps.stateDir, 'git-ca.crt');
    if (this.#caFile === file) return;
    await mkdir(this.#deps.stateDir, { recursive: true });
    await writeFile(file, pem);
    this.#caFile = file;
  }
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
    case 'broken':
      return `the directory ${path} of ${url} cannot be read: ${fault.message}. What is applied stays.`;
  }
}
