import { join } from 'node:path';
import { RepositoryReader } from '../repository-reader.ts';
import type { AcceptedPush, ProjectionTarget } from './projection-target.ts';
import { stretchesOf, type FoundMoves, type Stretch } from './stretches.ts';

const CACHE_BYTES = 16 * 1024 * 1024;
const MAX_VIEWS = 32;
/** Moves of layouts, by tip. */
const MAX_FOUND = 1000;

/** A shared repository as the projections see it, and which of them are known to hold what its branch holds. */
export class SourceView implements Disposable {
  readonly reader: RepositoryReader;
  readonly #ref: string;
  #tip: string | undefined;
  readonly #good = new Set<string>();
  readonly #found: FoundMoves = new Map();

  constructor(deps: { readonly path: string; readonly branch: string }) {
    this.reader = new RepositoryReader({ path: deps.path, cacheBytes: CACHE_BYTES });
    this.#ref = `refs/heads/${deps.branch}`;
  }

  async currentTip(): Promise<string | undefined> {
    return await this.reader.tip(this.#ref);
  }

  /** The places of a cluster's directory in the history of `tip`, the newest first. */
  async stretches(
    tip: string,
    target: ProjectionTarget,
    signal: AbortSignal,
  ): Promise<readonly [Stretch, ...Stretch[]]> {
    if (this.#found.size > MAX_FOUND) this.#found.clear();
    return await stretchesOf(this.reader, tip, await target.places(), this.#found, signal);
  }

  isKnownGood({ name }: ProjectionTarget, tip: string | undefined): boolean {
    return tip !== undefined && tip === this.#tip && this.#good.has(name);
  }

  noteGood({ name }: ProjectionTarget, tip: string | undefined): void {
    if (tip !== this.#tip) {
      this.#good.clear();
      this.#tip = tip;
    }
    this.#good.add(name);
  }

  /** A push changes nothing for the clusters that it is not about: theirs stay as good as they were. */
  noteMoved(push: AcceptedPush, followed: readonly ProjectionTarget[]): void {
    if (push.oldId !== this.#tip) this.#good.clear();
    this.#tip = push.newId;
    for (const { target } of push.changes) this.#good.delete(target.name);
    for (const { name } of followed) this.#good.add(name);
  }

  [Symbol.dispose](): void {
    this.reader[Symbol.dispose]();
  }
}

/** Views of the repositories that were used last. */
export class SourceViews implements Disposable {
  readonly #root: string;
  readonly #views = new Map<string, SourceView>();

  constructor(deps: { readonly root: string }) {
    this.#root = deps.root;
  }

  of(source: { readonly repository: string; readonly branch: string }): SourceView {
    const key = `${source.repository} ${source.branch}`;
    const view =
      this.#views.get(key) ??
      new SourceView({ path: join(this.#root, `${source.repository}.git`), branch: source.branch });
    this.#views.delete(key);
    this.#views.set(key, view);
    const [oldest] = this.#views;
    // Its reader's process ends by itself when it has been idle: somebody may still be reading.
    if (this.#views.size > MAX_VIEWS && oldest !== undefined) this.#views.delete(oldest[0]);
    return view;
  }

  [Symbol.dispose](): void {
    for (const view of this.#views.values()) view[Symbol.dispose]();
    this.#views.clear();
  }
}
