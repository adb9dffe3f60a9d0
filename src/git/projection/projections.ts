import { readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '../../runtime/clock.ts';
import type { Logger } from '../../runtime/logger.ts';
import { Turns } from '../embedded-host/turns.ts';
import { EMPTY_TREE_ID } from '../git-object.ts';
import { bootId } from './boot-id.ts';
import type { ProjectionSigner, ProjectionTrust } from './projected-commit.ts';
import { ProjectionChain } from './projection-chain.ts';
import { ProjectionRepository, type ProjectionState, type Written } from './projection-repository.ts';
import type { AcceptedPush, DirectoryChange, ProjectionTarget } from './projection-target.ts';
import { signersOfHistory } from './signed-history.ts';
import { directoryTree, isDirectoryOfCluster, sourceHistory, type PlacedCommit } from './source-history.ts';
import { SourceViews, type SourceView } from './source-views.ts';

export interface ProjectionsDeps {
  /** Folder of the bare repositories, the shared ones and the projections. */
  readonly root: string;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly sign?: ProjectionSigner | undefined;
}

/** Packs after which a projection is tidied without waiting for the hour: each is opened by every fetch. */
const MANY_PACKS = 50;
const MAX_AT_ONCE = 16;
const MAX_ATTEMPTS = 3;
const REWRITTEN = 'the shared branch was rewritten; the projection is made anew from its new history';
const NO_LONGER_TRUSTED = 'a key that the projection rests on counts no more; it is made anew';
const DAY_MS = 24 * 60 * 60 * 1000;

/**
 * The clusters' own repositories. Each holds the directory of one cluster as its root, the commits that changed it, and
 * not an object more. They follow from the shared repositories:
 *
 *   push accepted ──► `follow`: what it changed is added before the push is answered, without a process
 *   cluster reads ──► `bringUpToDate`: compared with the shared branch, and made or mended where that was not done
 *
 * so that a crash in between, a restored backup, or a hand in the repository is made good before anything is served.
 */
export class Projections implements Disposable {
  readonly #deps: ProjectionsDeps;
  readonly #turns = new Turns();
  readonly #views: SourceViews;
  readonly #crowded = new Set<string>();
  /** Those that this process has found or made whole. */
  readonly #sound = new Set<string>();

  constructor(deps: ProjectionsDeps) {
    this.#deps = deps;
    this.#views = new SourceViews({ root: deps.root });
  }

  /** Projections that an accepted push has left with many packs; asked for once. */
  takeCrowded(): readonly string[] {
    const names = [...this.#crowded];
    this.#crowded.clear();
    return names;
  }

  /** Makes sure that a projection holds what the shared branch holds at this moment. @throws when that cannot be done */
  async bringUpToDate(target: ProjectionTarget, signal: AbortSignal): Promise<void> {
    const view = this.#views.of(target);
    if (view.isKnownGood(target, await view.currentTip()) && (await this.#isThereAndTrusted(target))) return;
    await this.#inTurn(target, async () => {
      for (let attempt = 1; ; attempt += 1) {
        const derived = await this.#derive(view, target, signal);
        if (derived.state === 'done') return view.noteGood(target, derived.tip);
        if (attempt >= MAX_ATTEMPTS) throw new Error(`the projection ${target.name} is written by others all the time`);
      }
    });
  }

  /**
   * Adds an accepted push to the projections of the clusters that it is about. Never rejects: what cannot be added now is
   * when the cluster reads.
   */
  async follow(push: AcceptedPush): Promise<void> {
    const view = this.#views.of(push);
    const followed: ProjectionTarget[] = [];
    const waiting = [...push.changes];
    const worker = async (): Promise<void> => {
      for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
        const { target, changes } = next;
        try {
          if (await this.#inTurn(target, async () => await this.#append(view, target, changes))) followed.push(target);
        } catch (error) {
          this.#deps.logger.warn({ err: error, projection: target.name }, 'a projection waits for its cluster to read');
        }
      }
    };
    await Promise.all(Array.from({ length: MAX_AT_ONCE }, worker));
    view.noteMoved(push, followed);
  }

  /** Names of those on disk. */
  async list(): Promise<readonly string[]> {
    const found = await this.#filesOf();
    return found.flatMap(({ parent, file }) => (file.endsWith('.git') ? [`${parent}/${file.slice(0, -4)}`] : []));
  }

  /** What a crash left beside a projection while it was being made or taken away. */
  async removeRemains(): Promise<void> {
    for (const { parent, file } of await this.#filesOf()) {
      const path = join(this.#deps.root, parent, file);
      if (!/\.git\.[0-9a-f-]{36}\.(new|old)$/.test(file)) continue;
      const { mtimeMs } = await stat(path).catch(() => ({ mtimeMs: Infinity }));
      if (this.#deps.clock.now().getTime() - mtimeMs > DAY_MS) await rm(path, { recursive: true, force: true });
    }
  }

  async #filesOf(): Promise<readonly { readonly parent: string; readonly file: string }[]> {
    const folders = await readdir(this.#deps.root, { withFileTypes: true }).catch(() => []);
    const parents = folders.flatMap((entry) => {
      if (!entry.isDirectory() || entry.name.endsWith('.git')) return [];
      return entry.name === 'clusters' ? ['clusters'] : [`${entry.name}/clusters`];
    });
    const files = parents.map(async (parent) => {
      const found = await readdir(join(this.#deps.root, parent)).catch(() => []);
      return found.map((file) => ({ parent, file }));
    });
    return (await Promise.all(files)).flat();
  }

  /** Packs that it has come to since the last tidying. */
  async packsOf(name: string): Promise<number> {
    const state = await this.#repository({ name }).readState();
    return state === undefined || state === 'spoiled' ? 0 : state.packs;
  }

  async noteTidied(name: string): Promise<void> {
    await this.#inTurn({ name }, async () => await this.#repository({ name }).noteTidied());
  }

  /** Takes a projection away. It is made anew if its cluster reads it again. */
  async remove(name: string): Promise<void> {
    await this.#inTurn({ name }, async () => await this.#repository({ name }).remove());
    this.#sound.delete(name);
  }

  [Symbol.dispose](): void {
    this.#views[Symbol.dispose]();
  }

  async #derive(
    view: SourceView,
    target: ProjectionTarget,
    signal: AbortSignal,
  ): Promise<{ readonly state: 'done'; readonly tip: string | undefined } | { readonly state: 'raced' }> {
    const repository = this.#repository(target);
    const { reader } = view;
    // In this order: what the projection holds by now came from what the branch was at by then.
    const state = await this.#soundState(repository, target, signal);
    const tip = await view.currentTip();
    const done = { state: 'done', tip } as const;
    if (tip === undefined) return done;
    const trust = this.#trustOf(target);
    const stretches = await view.stretches(tip, target, signal);
    const tree = await directoryTree(reader, { commit: tip, directory: stretches[0].directory });
    const isTrusted = await this.#isTrusted(state?.lent ?? [], trust);
    if (isTrusted && tree === (state?.tree ?? EMPTY_TREE_ID)) return done;
    if (!isTrusted) this.#deps.logger.warn({ projection: target.name }, NO_LONGER_TRUSTED);
    let on = isTrusted ? state : undefined;
    let history = await sourceHistory(reader, { tip, known: on?.source, stretches }, signal);
    if (history.state === 'rewritten') {
      this.#deps.logger.warn({ projection: target.name, before: on?.source, after: tip }, REWRITTEN);
      on = undefined;
      history = await sourceHistory(reader, { tip, known: undefined, stretches }, signal);
    }
    if (history.state === 'rewritten') throw new Error('a history that was asked for from its beginning has none');
    const chain = new ProjectionChain({ repository, reader, trust, on, instead: state });
    const { base, commits } = history;
    if (base !== undefined) {
      const message = `The directory as it was at commit ${base.commit.slice(0, 12)}\n\nWhat led to it is in the history of the shared repository.`;
      const baseTree = await directoryTree(reader, base);
      const judge = baseTree === chain.tree ? undefined : await trust();
      const standsFor = judge && (await signersOfHistory(reader, { ...base, trust: judge }, signal));
      await chain.add(base.commit, baseTree, { standsFor, message });
    }
    for (const placed of commits) await this.#addChange(chain, reader, placed);
    // What else came in by a way that the list does not show: no commit of its own stands for it.
    await chain.add(tip, tree, {});
    return this.#note(target, await chain.finish(this.#deps.clock.now())) ? done : { state: 'raced' };
  }

  async #addChange(chain: ProjectionChain, reader: SourceView['reader'], placed: PlacedCommit): Promise<void> {
    const [before, tree] = await Promise.all([
      directoryTree(reader, { ...placed, commit: `${placed.commit}^1` }),
      directoryTree(reader, placed),
    ]);
    await chain.add(placed.commit, tree, { before });
  }

  /** Whose signatures count, as of when it is first asked for. */
  #trustOf({ organizationId }: ProjectionTarget): () => Promise<ProjectionTrust | undefined> {
    let asked: Promise<ProjectionTrust> | undefined;
    return async () => await (asked ??= this.#deps.sign?.(organizationId));
  }

  async #isTrusted(lent: readonly string[], trust: () => Promise<ProjectionTrust | undefined>): Promise<boolean> {
    if (lent.length === 0) return true;
    const keys = (await trust())?.keys;
    return lent.every((key) => keys?.has(key) === true);
  }

  /** For one that is known to hold what the branch holds: it was not taken away, and whose word it rests on still counts. */
  async #isThereAndTrusted(target: ProjectionTarget): Promise<boolean> {
    const repository = this.#repository(target);
    const state = await repository.readState();
    if (state === undefined) return await repository.isThere();
    return state !== 'spoiled' && (await this.#isTrusted(state.lent, this.#trustOf(target)));
  }

  /** @returns whether the projection holds what the push brought */
  async #append(view: SourceView, target: ProjectionTarget, changes: readonly DirectoryChange[]): Promise<boolean> {
    const repository = this.#repository(target);
    const [first] = changes;
    let state = await repository.peek(this.#sound.has(target.name));
    if (first === undefined || state === 'unsure') return false;
    if (state === 'missing') {
      // With a history before this push it is made of all of it, when the cluster reads.
      if (first.before !== undefined) return false;
      await repository.make();
      state = 'empty';
    }
    const on = state === 'empty' ? undefined : state;
    if ((first.before ?? EMPTY_TREE_ID) !== (on?.tree ?? EMPTY_TREE_ID)) return false;
    const chain = new ProjectionChain({ repository, reader: view.reader, trust: this.#trustOf(target), on });
    for (const { commit, before = EMPTY_TREE_ID, after = EMPTY_TREE_ID } of changes) {
      if (after !== EMPTY_TREE_ID && !isDirectoryOfCluster(target.directory, await view.reader.readTree(after)))
        return false;
      await chain.add(commit, after, { before });
    }
    return this.#note(target, await chain.finish(this.#deps.clock.now()));
  }

  async #soundState(
    repository: ProjectionRepository,
    target: ProjectionTarget,
    signal: AbortSignal,
  ): Promise<ProjectionState | undefined> {
    const found = await repository.peek(this.#sound.has(target.name));
    if (found === 'empty') return undefined;
    if (typeof found === 'object') return this.#noteSound(target, found);
    if (found === 'unsure') {
      const examined = await repository.examine(signal);
      if (examined !== 'damaged') return this.#noteSound(target, examined);
      this.#deps.logger.warn({ projection: target.name }, 'a projection is damaged and is made anew');
    }
    await repository.make();
    return undefined;
  }

  #noteSound({ name }: ProjectionTarget, state: ProjectionState): ProjectionState {
    this.#sound.add(name);
    return state;
  }

  #note(target: ProjectionTarget, end: Written | 'empty' | 'raced'): boolean {
    if (end === 'raced') return false;
    this.#sound.add(target.name);
    if (end !== 'empty' && end.packs >= MANY_PACKS) this.#crowded.add(target.name);
    return true;
  }

  #repository({ name, branch = '' }: { readonly name: string; readonly branch?: string }): ProjectionRepository {
    return new ProjectionRepository({ path: join(this.#deps.root, `${name}.git`), branch, boot: bootId() });
  }

  async #inTurn<Value>({ name }: { readonly name: string }, work: () => Promise<Value>): Promise<Value> {
    return await this.#turns.taker(name)(work);
  }
}
