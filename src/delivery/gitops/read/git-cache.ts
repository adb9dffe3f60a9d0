import { mkdir, readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Logger } from '../../../runtime/logger.ts';
import type { CopyReport } from './copy-report.ts';
import { GitCommand } from './git-command.ts';
import { FetchedHistory } from './fetched-history.ts';
import { GitFault, gitFaultOf } from './git-fault.ts';
import { chunksOf, parseTree, readBatch, type TreeEntry } from './git-output.ts';
import { configureSparseRepository } from './sparse-repository.ts';

export interface GitCacheDeps {
  /** Of this copy alone; it is made, and thrown away whenever it turns out to be broken. */
  readonly directory: string;
  readonly url: string;
  readonly branch: string;
  /** The only directory that is read; empty for the whole repository. */
  readonly path: string;
  /** Read at each command, since a credential changes. */
  readonly environment: () => Readonly<Record<string, string>>;
  readonly logger: Logger;
  /** For tests. */
  readonly maxPacks?: number;
}

export interface Fetched {
  readonly commit: string;
  /** The branch was rewritten: the commit seen before is not behind this one. */
  readonly rewritten: boolean;
}

/** Each fetch leaves a pack; so many are made one. */
const MAX_PACKS = 300;
/** A README and the like beside our directory do not make the repository a shared one. */
const MAX_OTHER_FILES = 5;
const REF = 'refs/service/desired';
/** More than this is no directory of manifests, and more than the operator has memory for. */
const MAX_TOTAL_BYTES = 256 * 1024 * 1024;
const OBJECT_ID = /^[0-9a-f]{40}(?:[0-9a-f]{24})?$/;

/**
 * A partial, sparse, shallow copy of one branch without a work tree: commits and trees are fetched, contents only of the
 * files that are asked for, which all lie in the one directory. Files are read from the pinned commit, so nothing that the
 * branch does meanwhile can tear a listing.
 */
export class GitCache {
  readonly #deps: GitCacheDeps;
  readonly #git: GitCommand;
  readonly #maxPacks: number;
  #opened = false;
  /** Nothing but our directory is in the repository: then its contents come with each fetch, which saves a round trip. */
  #dedicated: boolean | undefined;
  #filtered = true;
  #isUninspected = true;

  constructor(deps: GitCacheDeps) {
    this.#deps = deps;
    this.#maxPacks = deps.maxPacks ?? MAX_PACKS;
    this.#git = new GitCommand({ directory: deps.directory, environment: deps.environment });
  }

  /** Makes the copy, still empty, where there is none: so that the first fetch has less to do. @throws GitFault */
  async prepare(signal: AbortSignal): Promise<void> {
    if (this.#opened) return;
    if (!(await this.#isUsable())) await this.#create(signal);
    this.#opened = true;
  }

  /** Brings the copy up to the branch's tip; where nobody told of news it is first asked whether there is any. @throws GitFault */
  async fetch(signal: AbortSignal, isNews = true): Promise<Fetched> {
    try {
      await this.prepare(signal);
      const packs = await this.#countPacks();
      if (packs >= this.#maxPacks && packs !== Infinity) await this.#git.text(['repack', '-a', '-d', '-q'], { signal });
      if (!(await this.#isUsable())) throw new GitFault('broken', `the copy is gone or has ${this.#maxPacks} packs`);
      return await this.#fetchTip(signal, isNews);
    } catch (error) {
      signal.throwIfAborted();
      const fault = gitFaultOf(error);
      if (fault.kind !== 'broken') throw fault;
      this.#deps.logger.info({ message: fault.message }, 'the Git copy is thrown away and fetched anew');
    }
    await this.discard();
    await this.prepare(signal);
    return this.#fetchTip(signal);
  }

  /** Throws the copy away; the next fetch starts anew. */
  async discard(): Promise<void> {
    this.#opened = false;
    await rm(this.#deps.directory, { recursive: true, force: true });
  }

  /** Everything in the directory at a commit, directories and the directory itself included. @throws GitFault */
  async list(commit: string, signal: AbortSignal): Promise<readonly TreeEntry[]> {
    const limit = this.#deps.path === '' ? [] : ['--', this.#deps.path];
    return parseTree(await this.#git.text(['ls-tree', '-r', '-t', '-z', '--full-tree', commit, ...limit], { signal }));
  }

  /** The id of a commit's root tree. @throws GitFault */
  async rootTree(commit: string, signal: AbortSignal): Promise<string> {
    return (await this.#git.text(['rev-parse', '--verify', '--end-of-options', `${commit}^{tree}`], { signal })).trim();
  }

  /** The id of the directory's tree at a commit; undefined where there is none. @throws GitFault */
  async directoryTree(commit: string, signal: AbortSignal): Promise<string | undefined> {
    const { path } = this.#deps;
    if (path === '') return await this.rootTree(commit, signal);
    const text = await this.#git.text(['ls-tree', '-z', '--full-tree', commit, '--', path], { signal });
    const [entry] = parseTree(text);
    if (entry !== undefined && entry.type !== 'tree') throw new GitFault('broken', `${path} is not a directory`);
    if (entry === undefined) await this.#requireDirectoriesAbove(commit, signal);
    return entry?.id;
  }

  /** Git lists nothing behind a link or a submodule, as if it were all gone. @throws GitFault where one stands there */
  async #requireDirectoriesAbove(commit: string, signal: AbortSignal): Promise<void> {
    const names = this.#deps.path.split('/').slice(0, -1);
    const above = names.map((_, index) => names.slice(0, index + 1).join('/'));
    if (above.length === 0) return;
    const listed = parseTree(
      await this.#git.text(['ls-tree', '-z', '--full-tree', commit, '--', ...above], { signal }),
    );
    const other = listed.find(({ type }) => type !== 'tree');
    if (other !== undefined) throw new GitFault('broken', `${other.path} is not a directory`);
  }

  /**
   * Gives the contents of blobs to `take`, a few at a time. One that is larger than `maxBytes` comes as its size.
   *
   * @throws GitFault
   */
  async read(
    ids: readonly string[],
    maxBytes: number,
    take: (contents: ReadonlyMap<string, Buffer | number>) => Promise<void>,
    signal: AbortSignal,
  ): Promise<void> {
    const wanted = [...new Set(ids)];
    if (wanted.length === 0) return;
    const sizes = await this.#sizes(wanted, signal);
    const missing = wanted.filter((id) => !sizes.has(id));
    if (missing.length > 0) {
      await this.#fetchBlobs(missing, signal);
      for (const [id, size] of await this.#sizes(missing, signal)) sizes.set(id, size);
    }
    const lost = wanted.find((id) => !sizes.has(id));
    if (lost !== undefined) throw new GitFault('broken', `the remote does not give object ${lost}`);
    const isSmall = (id: string): boolean => (sizes.get(id) ?? 0) <= maxBytes;
    const small = wanted.filter(isSmall);
    const total = small.reduce((sum, id) => sum + (sizes.get(id) ?? 0), 0);
    if (total > MAX_TOTAL_BYTES) {
      throw new GitFault('broken', `the files hold ${total} bytes together; at most ${MAX_TOTAL_BYTES} are read`);
    }
    await take(new Map([...sizes].filter(([id]) => !isSmall(id))));
    for (const chunk of chunksOf(small, sizes)) {
      const contents = new Map<string, Buffer | number>();
      readBatch(await this.#git.bytes(['--batch'], { signal, input: chunk }), contents);
      await take(contents);
    }
  }

  /** The copy is another than at the last inspection, or filled in another way. */
  get isUninspected(): boolean {
    return this.#isUninspected;
  }

  /** Counts what the copy holds, as it is on the disk. @throws GitFault */
  async inspect(commit: string, signal: AbortSignal): Promise<CopyReport> {
    const format = '--batch-check=%(objecttype) %(objectname)';
    const all = await this.#git.text(['cat-file', '--batch-all-objects', '--unordered', '--buffer', format], {
      signal,
    });
    const lines = all.split('\n').filter((line) => line !== '');
    const own = new Set((await this.list(commit, signal)).map(({ id }) => id));
    const contents = lines.filter((line) => line.startsWith('blob '));
    const foreign = contents.filter((line) => !own.has(line.slice(5))).length;
    this.#isUninspected = false;
    const packs = /^size-pack: (\d+)$/m.exec(await this.#git.text(['count-objects', '-v'], { signal }));
    return {
      bytes: Number(packs?.[1] ?? 0) * 1024,
      objects: lines.length,
      contents: contents.length,
      foreign: this.#dedicated === true && foreign <= MAX_OTHER_FILES ? 0 : foreign,
      filtered: this.#filtered,
    };
  }

  async #isUsable(): Promise<boolean> {
    return (await this.#countPacks()) < this.#maxPacks;
  }

  /** Infinity where there is no copy. */
  async #countPacks(): Promise<number> {
    try {
      const files = await readdir(join(this.#deps.directory, '.git', 'objects', 'pack'));
      return files.filter((file) => file.endsWith('.pack')).length;
    } catch {
      return Infinity;
    }
  }

  async #create(signal: AbortSignal): Promise<void> {
    await this.discard();
    this.#dedicated = undefined;
    this.#isUninspected = true;
    await mkdir(this.#deps.directory, { recursive: true, mode: 0o700 });
    await this.#git.text(['init', '--quiet'], { signal });
    await configureSparseRepository(this.#deps);
  }

  async #fetchTip(signal: AbortSignal, isNews = true): Promise<Fetched> {
    const known = await this.#tip();
    const { path, branch } = this.#deps;
    // Of a whole repository every content is wanted, from the first time on: then it comes with the same answer.
    const isOwn = this.#dedicated === true || path === '';
    const filter = isOwn ? '--no-filter' : '--filter=blob:none';
    const options = ['--no-tags', '--no-write-fetch-head', '--recurse-submodules=no', filter];
    const stderr: string[] = [];
    const fetch = async (...limits: readonly string[]): Promise<void> => {
      const refspec = `+refs/heads/${branch}:${REF}`;
      await this.#git.text(['fetch', ...options, ...limits, 'origin', refspec], { signal, stderr });
    };
    const history = new FetchedHistory({ git: this.#git, fetch });
    // The first time one commit is enough, however deep the history is; later what has been added to it.
    if (known === undefined) await fetch('--depth=1');
    // A cluster's own repository is written by the control plane, one commit after the other.
    else if (path === '') await fetch();
    else if (isNews || this.#dedicated === undefined || (await history.tipOf(branch, signal)) !== known) {
      await history.fetchSince(known, signal);
    } else return { commit: known, rewritten: false };
    const said = stderr.join('');
    const commit = await this.#tip();
    if (commit === undefined) throw new GitFault('broken', 'the fetched commit has no id');
    this.#noteFilter(!said.includes('filtering not recognized'));
    if (commit !== known || this.#dedicated === undefined) await this.#noteKind(commit, signal);
    const isForced = known !== undefined && said.includes('(forced update)');
    return { commit, rewritten: isForced && (path === '' || !(await history.goesOn(known, commit, signal))) };
  }

  #noteFilter(filtered: boolean): void {
    if (filtered === this.#filtered) return;
    this.#filtered = filtered;
    this.#isUninspected = true;
    if (!filtered) this.#deps.logger.warn({ url: this.#deps.url }, 'the Git host does not filter');
  }

  /** A second directory makes a shared repository of one that was ours alone: its contents are not ours to fetch. */
  async #noteKind(commit: string, signal: AbortSignal): Promise<void> {
    const dedicated = await this.#isDedicated(commit, signal);
    if (this.#dedicated !== undefined && dedicated !== this.#dedicated) this.#isUninspected = true;
    this.#dedicated = dedicated;
  }

  /** The fetched commit. Nothing ever packs refs here, so reading the loose one saves a process. */
  async #tip(): Promise<string | undefined> {
    const text = await readFile(join(this.#deps.directory, '.git', REF), 'utf8').catch(() => '');
    return OBJECT_ID.test(text.trim()) ? text.trim() : undefined;
  }

  async #isDedicated(commit: string, signal: AbortSignal): Promise<boolean> {
    const { path } = this.#deps;
    if (path === '') return true;
    const segments = path.split('/');
    const parents = segments.slice(1).map((_, index) => `${segments.slice(0, index + 1).join('/')}/`);
    const list = ['ls-tree', '-z', '--full-tree', commit];
    const root = parseTree(await this.#git.text(list, { signal }));
    const below = parents.length === 0 ? [] : parseTree(await this.#git.text([...list, '--', ...parents], { signal }));
    const others = [...root, ...below].filter((entry) => path !== entry.path && !path.startsWith(`${entry.path}/`));
    return others.length <= MAX_OTHER_FILES && others.every(({ type }) => type === 'blob');
  }

  /**
   * Sizes of the blobs that are here. Asked for one that is not, git fetches it, each alone, and no setting of a command
   * takes back that the remote is a promisor (git before 2.45); so what is here is listed instead.
   */
  async #sizes(ids: readonly string[], signal: AbortSignal): Promise<Map<string, number>> {
    const format = '--batch-check=%(objectname) %(objectsize)';
    const args = ['cat-file', '--batch-all-objects', '--unordered', '--buffer', format];
    const wanted = new Set(ids);
    const sizes = new Map<string, number>();
    for (const line of (await this.#git.text(args, { signal })).split('\n')) {
      const [id = '', size = ''] = line.split(' ');
      if (wanted.has(id)) sizes.set(id, Number(size));
    }
    return sizes;
  }

  async #fetchBlobs(ids: readonly string[], signal: AbortSignal): Promise<void> {
    const options = ['--no-tags', '--no-write-fetch-head', '--recurse-submodules=no', '--filter=blob:none', '--stdin'];
    await this.#git.text(['fetch', ...options, 'origin'], {
      signal,
      input: ids,
      settings: ['fetch.negotiationAlgorithm=noop'],
    });
  }
}
