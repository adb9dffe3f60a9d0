import { mkdir, readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { simpleGit, type SimpleGit } from 'simple-git';
import type { Logger } from '../../runtime/logger.ts';
import { GitFault, gitFaultOf } from './git-fault.ts';

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
}

/** One file or directory of a commit, as `git ls-tree` lists it. */
export interface TreeEntry {
  readonly mode: string;
  readonly type: string;
  readonly id: string;
  /** From the repository's root. */
  readonly path: string;
}

export interface Fetched {
  readonly commit: string;
  /** The branch was rewritten: the commit seen before is not behind this one. */
  readonly rewritten: boolean;
}

const COMMAND_TIMEOUT_MS = 120_000;
/** Each fetch leaves a pack; a fresh clone is cheaper than housekeeping in a cache. */
const MAX_PACKS = 300;
/** A README and the like beside our directory do not make the repository a shared one. */
const MAX_OTHER_FILES = 5;
const REF = 'refs/service/desired';
const OBJECT_ID = /^[0-9a-f]{40}(?:[0-9a-f]{24})?$/;

/**
 * A partial, sparse, shallow copy of one branch without a work tree: commits and trees are fetched, contents only of the
 * files that are asked for, which all lie in the one directory. Files are read from the pinned commit, so nothing that the
 * branch does meanwhile can tear a listing.
 */
export class GitCache {
  readonly #deps: GitCacheDeps;
  #opened = false;
  /** Nothing but our directory is in the repository: then its contents come with each fetch, which saves a round trip. */
  #dedicated: boolean | undefined;

  constructor(deps: GitCacheDeps) {
    this.#deps = deps;
  }

  /** Whether `--filter` is left out of fetches. */
  get dedicated(): boolean {
    return this.#dedicated === true;
  }

  /** Brings the copy up to the branch's tip. @throws GitFault */
  async fetch(signal: AbortSignal): Promise<Fetched> {
    if (!this.#opened && (await this.#isUsable())) this.#opened = true;
    if (this.#opened) {
      try {
        const fetched = await this.#fetchTip(signal);
        this.#dedicated ??= await this.#isDedicated(fetched.commit, signal);
        return fetched;
      } catch (error) {
        signal.throwIfAborted();
        const fault = gitFaultOf(error);
        if (fault.kind !== 'broken') throw fault;
        this.#deps.logger.warn({ message: fault.message }, 'the Git copy is broken and is cloned again');
      }
    }
    return this.#clone(signal);
  }

  /** Throws the copy away; the next fetch clones. */
  async discard(): Promise<void> {
    this.#opened = false;
    await rm(this.#deps.directory, { recursive: true, force: true });
  }

  /** Everything in the directory at a commit, directories and the directory itself included. @throws GitFault */
  async list(commit: string, signal: AbortSignal): Promise<readonly TreeEntry[]> {
    const limit = this.#deps.path === '' ? [] : ['--', this.#deps.path];
    return parseTree(await this.#run(['ls-tree', '-r', '-t', '-z', '--full-tree', commit, ...limit], signal));
  }

  /** The id of a commit's root tree. @throws GitFault */
  async rootTree(commit: string, signal: AbortSignal): Promise<string> {
    return (await this.#run(['rev-parse', '--verify', '--end-of-options', `${commit}^{tree}`], signal)).trim();
  }

  /** The contents of blobs. One that is larger than `maxBytes` comes back as its size. @throws GitFault */
  async read(
    ids: readonly string[],
    maxBytes: number,
    signal: AbortSignal,
  ): Promise<ReadonlyMap<string, Buffer | number>> {
    const wanted = [...new Set(ids)];
    const contents = new Map<string, Buffer | number>();
    if (wanted.length === 0) return contents;
    if (this.#dedicated !== true) await this.#fetchBlobs(wanted, signal);
    const sizes = await this.#run(['cat-file', '--batch-check=%(objectname) %(objectsize)'], signal, wanted);
    const small: string[] = [];
    for (const line of sizes.trimEnd().split('\n')) {
      const [id = '', size = ''] = line.split(' ');
      if (!/^\d+$/.test(size)) throw new GitFault('broken', `object ${id} cannot be read: ${size}`);
      if (Number(size) > maxBytes) contents.set(id, Number(size));
      else small.push(id);
    }
    if (small.length > 0) readBatch(await this.#cat(small, signal), contents);
    return contents;
  }

  async #isUsable(): Promise<boolean> {
    try {
      const packs = await readdir(join(this.#deps.directory, '.git', 'objects', 'pack'));
      return packs.length / 3 < MAX_PACKS;
    } catch {
      return false;
    }
  }

  async #clone(signal: AbortSignal): Promise<Fetched> {
    const { directory, url, branch, path } = this.#deps;
    await this.discard();
    await mkdir(directory, { recursive: true, mode: 0o700 });
    const options = ['--filter=blob:none', '--no-checkout', '--sparse', '--depth=1', '--single-branch', '--no-tags'];
    try {
      await this.#run(['clone', '--quiet', ...options, `--branch=${branch}`, '--', url, '.'], signal);
      if (path !== '') await this.#run(['sparse-checkout', 'set', '--cone', '--end-of-options', path], signal);
    } catch (error) {
      await this.discard();
      throw error;
    }
    this.#opened = true;
    const commit = (await this.#run(['rev-parse', '--verify', 'HEAD'], signal)).trim();
    await this.#run(['update-ref', REF, commit], signal);
    this.#dedicated = await this.#isDedicated(commit, signal);
    return { commit, rewritten: false };
  }

  async #fetchTip(signal: AbortSignal): Promise<Fetched> {
    if (!(await this.#isUsable())) throw new GitFault('broken', `the copy is gone or has more than ${MAX_PACKS} packs`);
    const filter = this.#dedicated === true ? '--no-filter' : '--filter=blob:none';
    const refspec = `+refs/heads/${this.#deps.branch}:${REF}`;
    const progress: string[] = [];
    await this.#run(
      ['fetch', '--no-tags', '--no-write-fetch-head', filter, 'origin', refspec],
      signal,
      undefined,
      progress,
    );
    // A loose ref, since nothing ever packs refs here: reading it saves a process.
    const commit = (await readFile(join(this.#deps.directory, '.git', REF), 'utf8').catch(() => '')).trim();
    if (!OBJECT_ID.test(commit)) throw new GitFault('broken', 'the fetched commit has no id');
    return { commit, rewritten: progress.join('').includes('(forced update)') };
  }

  async #isDedicated(commit: string, signal: AbortSignal): Promise<boolean> {
    const { path } = this.#deps;
    if (path === '') return true;
    const parents = path.split('/').map((_, index, segments) => segments.slice(0, index).join('/'));
    const limits = parents.filter((parent) => parent !== '').map((parent) => `${parent}/`);
    const root = parseTree(await this.#run(['ls-tree', '-z', '--full-tree', commit], signal));
    const below =
      limits.length === 0
        ? []
        : parseTree(await this.#run(['ls-tree', '-z', '--full-tree', commit, '--', ...limits], signal));
    const others = [...root, ...below].filter((entry) => path !== entry.path && !path.startsWith(`${entry.path}/`));
    return others.length <= MAX_OTHER_FILES && others.every(({ type }) => type === 'blob');
  }

  /** All at once: git by itself would fetch each missing blob alone. */
  async #fetchBlobs(ids: readonly string[], signal: AbortSignal): Promise<void> {
    const options = ['--no-tags', '--no-write-fetch-head', '--recurse-submodules=no', '--filter=blob:none', '--stdin'];
    await this.#run(['-c', 'fetch.negotiationAlgorithm=noop', 'fetch', 'origin', ...options], signal, ids);
  }

  async #cat(ids: readonly string[], signal: AbortSignal): Promise<Buffer> {
    try {
      const output: unknown = await this.#git(signal, ids).binaryCatFile(['--batch']);
      if (!Buffer.isBuffer(output)) throw new GitFault('broken', 'git cat-file gave no bytes');
      return output;
    } catch (error) {
      signal.throwIfAborted();
      throw gitFaultOf(error);
    }
  }

  async #run(
    args: readonly string[],
    signal: AbortSignal,
    input?: readonly string[],
    stderr?: string[],
  ): Promise<string> {
    try {
      const git = this.#git(signal, input);
      if (stderr !== undefined) {
        git.outputHandler((_command, _stdout, errors) =>
          errors.on('data', (chunk: Buffer) => stderr.push(String(chunk))),
        );
      }
      return await git.raw([...args]);
    } catch (error) {
      signal.throwIfAborted();
      throw gitFaultOf(error);
    }
  }

  /** One instance a command: each has its own input, time limit and, as it may have changed, credential. */
  #git(signal: AbortSignal, input?: readonly string[]): SimpleGit {
    const environment = this.#deps.environment();
    const lines = input?.map((line) => `${line}\n`).join('');
    return simpleGit({
      baseDir: this.#deps.directory,
      abort: AbortSignal.any([signal, AbortSignal.timeout(COMMAND_TIMEOUT_MS)]),
      allowEnvironment: Object.keys(environment),
      // The library refuses these unless told that they do not come from outside. Here they are constants.
      unsafe: {
        allowUnsafeConfigEnvCount: true,
        allowUnsafeConfigPaths: true,
        allowUnsafeHooksPath: true,
        allowUnsafeProtocolOverride: true,
        allowUnsafeCredentialHelper: true,
        allowUnsafeAskPass: true,
        allowUnsafeFsMonitor: true,
      },
      ...(lines === undefined ? {} : { input: () => lines }),
    }).env({ ...environment });
  }
}

function parseTree(text: string): readonly TreeEntry[] {
  return text.split('\0').flatMap((line) => {
    const match = /^(\d+) (\w+) ([0-9a-f]+)\t([^]+)$/.exec(line);
    if (match === null) return [];
    const [, mode = '', type = '', id = '', path = ''] = match;
    return [{ mode, type, id, path }];
  });
}

/** Output of `cat-file --batch`: `<id> blob <size>`, a newline, so many bytes, a newline. */
function readBatch(output: Buffer, into: Map<string, Buffer | number>): void {
  let at = 0;
  while (at < output.length) {
    const end = output.indexOf(0x0a, at);
    const [id = '', type, size = ''] = output.toString('latin1', at, end === -1 ? output.length : end).split(' ');
    if (end === -1 || type !== 'blob') throw new GitFault('broken', `object ${id} cannot be read`);
    const start = end + 1;
    into.set(id, output.subarray(start, start + Number(size)));
    at = start + Number(size) + 1;
  }
}
