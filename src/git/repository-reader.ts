import { MissingObjectError } from './branch-copy.ts';
import { ByteCache } from './byte-cache.ts';
import { treeOfCommit } from './commit-object.ts';
import type { ObjectType } from './git-object.ts';
import { gitConfigEnvironment, runGit } from './git-process.ts';
import { GitTree } from './git-tree.ts';
import { readLooseRef } from './loose-ref.ts';
import { ObjectReader } from './object-reader.ts';

/** Of trees kept in memory, their indexes of names included. */
const CACHE_BYTES = 64 * 1024 * 1024;
/** An index of names comes on top of a tree's bytes. */
const CACHE_WEIGHT = 4;

/** Reads a bare repository on disk; trees are remembered within a bound. */
export class RepositoryReader implements Disposable {
  readonly #path: string;
  readonly #objects: ObjectReader;
  readonly #trees: ByteCache<GitTree>;

  constructor(deps: { readonly path: string; readonly cacheBytes?: number }) {
    this.#path = deps.path;
    this.#objects = new ObjectReader({ repository: deps.path });
    this.#trees = new ByteCache({ maxBytes: deps.cacheBytes ?? CACHE_BYTES });
  }

  /** The tree if it is remembered. */
  knownTree(id: string): GitTree | undefined {
    return this.#trees.get(id);
  }

  addTree(id: string, tree: GitTree): void {
    this.#trees.set(id, tree, tree.bytes.length * CACHE_WEIGHT + 256);
  }

  async readTree(id: string): Promise<GitTree> {
    const known = this.#trees.get(id);
    if (known !== undefined) return known;
    const tree = new GitTree(await this.read(id, 'tree'));
    this.addTree(id, tree);
    return tree;
  }

  async readTreeOfCommit(id: string): Promise<string> {
    return treeOfCommit(await this.read(id, 'commit'));
  }

  /** @throws {MissingObjectError} when it is not there, or of another type */
  async read(id: string, type: ObjectType): Promise<Buffer> {
    const bytes = await this.find(id, type);
    if (bytes === undefined) throw new MissingObjectError(id);
    return bytes;
  }

  /** What an expression such as `<commit>:<path>` names; `undefined` when nothing of that type is there. */
  async find(expression: string, type: ObjectType): Promise<Buffer | undefined> {
    const stored = await this.#objects.read(expression);
    return stored?.type === type ? stored.bytes : undefined;
  }

  async tip(ref: string): Promise<string | undefined> {
    const loose = await readLooseRef(this.#path, ref);
    if (loose !== undefined) return loose;
    const id = (await this.git(['for-each-ref', '--format=%(objectname)', ref])).toString('latin1').trim();
    return id === '' ? undefined : id;
  }

  async git(args: readonly string[], signal?: AbortSignal, input?: string): Promise<Buffer> {
    return runGit(args, {
      cwd: this.#path,
      env: {
        ...gitConfigEnvironment([['safe.directory', this.#path]]),
        GIT_DIR: this.#path,
        GIT_NO_REPLACE_OBJECTS: '1',
      },
      ...(signal === undefined ? {} : { signal }),
      ...(input === undefined ? {} : { input }),
    });
  }

  /** Ends the process that reads; the next read starts another. */
  [Symbol.dispose](): void {
    this.#objects[Symbol.dispose]();
  }
}
