import { join } from 'node:path';
import type { DesiredSet } from '../../../../src/delivery/delivery.ts';
import type { CopyCondition } from '../../../../src/delivery/gitops/read/copy-report.ts';
import { GitSource, type GitSourceDeps } from '../../../../src/delivery/gitops/read/git-source.ts';
import type { GitTarget } from '../../../../src/delivery/gitops/read/git-target.ts';
import { createLogger } from '../../../../src/runtime/logger.ts';
import { readSourceMemory, type SourceMemory } from '../../../../src/delivery/gitops/read/source-memory.ts';
import { ManualClock } from '../../../support/manual-clock.ts';
import type { GitRemote } from './git-remote.ts';

/** A running source over a real remote, with a clock moved by hand. */
export class SourceRun implements AsyncDisposable {
  readonly clock = new ManualClock();
  readonly rewrites: string[] = [];
  readonly copies: CopyCondition[] = [];
  readonly stateDir: string;
  /** What an apply loop would have applied of the sets so far. */
  readonly #applied = new Set<string>();
  #accepted: string | undefined;
  /** What stands with the inventory. Give it to the next source of the same cluster. */
  memory: string | undefined;
  pruned = 0;
  readonly #remote: GitRemote;
  readonly #source: GitSource;
  readonly #stop = new AbortController();
  readonly #sets: AsyncIterator<DesiredSet>;
  #next: Promise<IteratorResult<DesiredSet>> | undefined;

  constructor(remote: GitRemote, deps: Partial<GitSourceDeps> = {}) {
    this.#remote = remote;
    this.stateDir = join(remote.folder, 'state');
    this.#source = new GitSource({
      stateDir: this.stateDir,
      clock: this.clock,
      random: () => 0,
      logger: createLogger('test', 'silent'),
      applied: () => [...this.#applied].map((key) => ({ key, uid: `uid of ${key}` })),
      memory: {
        read: () => this.memory,
        write: (text) => {
          this.memory = text;
        },
      },
      prunedSince: () => this.pruned,
      onCopy: (condition) => void this.copies.push(condition),
      acceptedRevision: () => this.#accepted,
      onRewritten: (message) => void this.rewrites.push(message),
      allowFile: true,
      ...deps,
    });
    this.#sets = this.#source.desired(this.#stop.signal)[Symbol.asyncIterator]();
  }

  /** What `/config` says; by default the directory `clusters/eu` as it is at the remote now. */
  tell(change: Partial<GitTarget> = {}): void {
    const path = change.path ?? 'clusters/eu';
    this.#source.update({
      url: this.#remote.url,
      branch: 'main',
      path,
      ...(change.desiredRevision === undefined ? { desiredRevision: this.#remote.treeOf(path) } : {}),
      ...change,
    });
  }

  get known(): SourceMemory {
    return readSourceMemory({ read: () => this.memory, write: () => undefined });
  }

  /** An item of a set was applied. */
  async settle(key: string): Promise<void> {
    this.#applied.add(key);
    await this.#source.settle(key, { state: 'applied' });
  }

  /** A person accepts what vanished. */
  accept(revision: string): void {
    this.#accepted = revision;
    this.#source.lookAgain();
  }

  /** What the cluster itself says has changed. */
  lookAgain(): void {
    this.#source.lookAgain();
  }

  update(target: GitTarget | undefined): void {
    this.#source.update(target);
  }

  async next(): Promise<DesiredSet> {
    this.#next ??= this.#sets.next();
    const result = await this.#next;
    this.#next = undefined;
    if (result.done === true) throw new Error('the source ended');
    for (const { key } of result.value.objects) this.#applied.add(key);
    for (const { key } of result.value.prunes ?? []) this.#applied.delete(key);
    for (const { tombstone } of result.value.removals)
      this.#applied.delete(`apps/${tombstone.namespace}/${tombstone.name}.yaml`);
    return result.value;
  }

  /** The next set of which the clock must be moved on: waits, retries and polls pass at once. */
  async nextInTime(stepMs: number): Promise<DesiredSet> {
    const state = { waiting: true };
    const next = this.next().finally(() => {
      state.waiting = false;
    });
    while (state.waiting) {
      await new Promise((resolve) => setImmediate(resolve));
      if (state.waiting && this.clock.sleeping > 0) this.clock.advance(stepMs);
    }
    return next;
  }

  /** Asks for the next set without waiting for it. */
  ask(): void {
    this.#next ??= this.#sets.next();
    this.#next.catch(() => undefined);
  }

  /** Resolves when the source waits, having nothing more to give. */
  async atRest(): Promise<void> {
    this.ask();
    while (this.clock.sleeping === 0) await new Promise((resolve) => setImmediate(resolve));
  }

  /** Lets it take its effect that there is nothing to read. */
  async settledWithoutTarget(): Promise<void> {
    this.ask();
    for (let turn = 0; turn < 200; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  }

  /** Lets what was told take its effect; nothing may come of it. */
  async settled(): Promise<void> {
    for (let turn = 0; turn < 200; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    await this.atRest();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#next?.catch(() => undefined);
    await this.#source[Symbol.asyncDispose]();
  }
}
