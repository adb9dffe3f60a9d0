import { EMPTY_TREE_ID, type NewObject } from '../git-object.ts';
import { writeIndexedPack } from '../pack-index.ts';
import type { RepositoryReader } from '../repository-reader.ts';
import { newObjects } from './new-objects.ts';
import { projectedCommit, type ProjectionTrust } from './projected-commit.ts';
import type { ProjectionRepository, ProjectionState, Written } from './projection-repository.ts';

/** A pack is written when it has so much: a long history does not have to fit into memory. */
const FLUSH_BYTES = 16 * 1024 * 1024;

const EMPTY_TREE: NewObject = { type: 'tree', id: EMPTY_TREE_ID, bytes: Buffer.alloc(0) };

/** Appends commits to a projection: their objects as packs, then the branch. */
export class ProjectionChain {
  readonly #repository: ProjectionRepository;
  readonly #reader: RepositoryReader;
  readonly #trust: () => Promise<ProjectionTrust | undefined>;
  /** What the branch is at; it is moved from there. */
  readonly #branchAt: string | undefined;
  #tip: { readonly commit: string; readonly tree: string; readonly source: string } | undefined;
  #packs: number;
  readonly #lent: Set<string>;
  /** What is on disk says of it. */
  readonly #lentBefore: readonly string[];
  #objects: NewObject[] = [];
  #bytes = 0;

  constructor(deps: {
    readonly repository: ProjectionRepository;
    readonly reader: RepositoryReader;
    /** Whose signatures count; asked when the first commit is added. */
    readonly trust: () => Promise<ProjectionTrust | undefined>;
    /** What the commits are put onto; undefined for a history from its beginning. */
    readonly on: ProjectionState | undefined;
    /** Where the branch is when that is not `on`: its history is left behind. */
    readonly instead?: ProjectionState | undefined;
  }) {
    this.#repository = deps.repository;
    this.#reader = deps.reader;
    this.#trust = deps.trust;
    const { on, instead } = deps;
    this.#tip = on === undefined ? undefined : { commit: on.tip, tree: on.tree, source: on.source };
    this.#branchAt = (on ?? instead)?.tip;
    this.#packs = (on ?? instead)?.packs ?? 0;
    this.#lent = new Set(on?.lent);
    this.#lentBefore = (on ?? instead)?.lent ?? [];
  }

  get tree(): string {
    return this.#tip?.tree ?? EMPTY_TREE_ID;
  }

  /**
   * The commit `source` of the shared repository, in which the directory is `tree`; nothing when it is that already. It is
   * signed when what it brings is signed: by the commit itself, if it changed the directory from what the chain holds, or
   * else by those of `standsFor`.
   *
   * @param change.before the directory in the first parent of `source`
   * @param change.standsFor keys that signed everything that led to `tree`
   */
  async add(
    source: string,
    tree: string,
    change: {
      readonly before?: string;
      readonly standsFor?: ReadonlySet<string> | undefined;
      readonly message?: string;
    },
  ): Promise<void> {
    if (tree === this.tree) return;
    const [objects, bytes, trust] = await Promise.all([
      newObjects(this.#reader, this.#tip?.tree, tree),
      this.#reader.read(source, 'commit'),
      this.#trust(),
    ]);
    const keys = change.before === this.tree ? setOf(trust?.signerOf(bytes)) : change.standsFor;
    const commit = await projectedCommit({
      source: { id: source, bytes },
      tree,
      parent: this.#tip?.commit,
      ...(change.message === undefined ? {} : { message: change.message }),
      sign: keys === undefined || trust === undefined ? undefined : async (payload) => this.#sign(trust, keys, payload),
    });
    this.#objects.push(...(tree === EMPTY_TREE_ID ? [EMPTY_TREE] : objects), commit);
    this.#bytes += objects.reduce((sum, object) => sum + object.bytes.length, commit.bytes.length);
    this.#tip = { commit: commit.id, tree, source };
    if (this.#bytes > FLUSH_BYTES) await this.#flush();
  }

  /** Remembers whose word the signature passes on: it counts no longer than theirs. */
  async #sign(trust: ProjectionTrust, keys: ReadonlySet<string>, payload: Buffer): Promise<string> {
    const { signature, key } = await trust.sign(payload);
    for (const name of keys) if (name !== key) this.#lent.add(name);
    return signature;
  }

  /** @returns what the projection now is; `raced` when another process moved it first */
  async finish(now: Date): Promise<Written | 'empty' | 'raced'> {
    const tip = this.#tip;
    if (tip === undefined) return 'empty';
    const lent = [...this.#lent].toSorted();
    const isLentBefore = lent.join() === this.#lentBefore.join();
    const state = { tip: tip.commit, tree: tip.tree, source: tip.source, lent };
    if (tip.commit === this.#branchAt && isLentBefore) return { ...state, packs: this.#packs };
    await this.#flush();
    const next = { ...state, packs: this.#packs };
    return (await this.#repository.move(this.#branchAt, next, now)) ? next : 'raced';
  }

  async #flush(): Promise<void> {
    if (this.#objects.length === 0) return;
    const objects = this.#objects;
    this.#objects = [];
    this.#bytes = 0;
    await this.#repository.addPack(await writeIndexedPack(objects));
    this.#packs += 1;
  }
}

function setOf(key: string | undefined): ReadonlySet<string> | undefined {
  return key === undefined ? undefined : new Set([key]);
}
