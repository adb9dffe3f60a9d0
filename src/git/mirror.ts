import { mkdir, rm } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import type { Logger } from '../runtime/logger.ts';
import type { BranchCopy, Fetched } from './branch-copy.ts';
import { treeOfCommit } from './commit-object.ts';
import { isFresh, type GitCredential } from './git-credential.ts';
import type { NewObject, ObjectType } from './git-object.ts';
import { GitProcessError, runGit } from './git-process.ts';
import { GitTree } from './git-tree.ts';
import { maintainRepository } from './maintain-repository.ts';
import { writePack } from './pack.ts';
import { NOT_ACTIVE_YET } from './receive-pack.ts';
import type { Rejection } from './rejection.ts';
import type { GitRemote } from './remote/git-remote.ts';
import { HttpRemote } from './remote/http-remote.ts';
import { RepositoryReader } from './repository-reader.ts';

export interface MirrorDeps {
  /** Folder of the bare repository; made, and made anew when it is damaged. Belongs to one process. */
  readonly path: string;
  readonly url: string;
  /** How the host is reached; default: over HTTP. */
  readonly remote?: Pick<GitRemote, 'native'>;
  readonly branch: string;
  readonly logger: Logger;
  /** Of trees kept in memory. Default 64 MiB. */
  readonly cacheBytes?: number;
  /** One fetch, in milliseconds. Default 10 minutes: the first one brings the whole branch. */
  readonly fetchTimeoutMs?: number;
}

/** Where the branch of a proposal stands while it is looked at. */
const PROPOSED_REF = 'refs/proposed/head';
const FLUSH_BYTES = 16 * 1024 * 1024;
const FLUSH_OBJECTS = 4000;
const MAINTENANCE_TIMEOUT_MS = 10 * 60_000;
const FLUSHES_PER_REPACK = 16;

/**
 * A bare local copy of one branch. Native git brings it up to date (it is several times faster at that than anything in
 * JavaScript); what this process itself has pushed is kept in memory and written here now and then, off the way of any
 * intent. Losing it costs one fetch.
 */
export class Mirror implements BranchCopy {
  readonly #deps: MirrorDeps;
  readonly #path: string;
  readonly #ref: string;
  readonly #reader: RepositoryReader;
  readonly #kept = new Map<string, NewObject>();
  #keptBytes = 0;
  #keptTip: string | undefined;
  #flushing: Promise<void> = Promise.resolve();
  #flushes = 0;
  #made = false;
  #isRewritten = false;

  constructor(deps: MirrorDeps) {
    this.#deps = deps;
    this.#path = resolve(deps.path);
    this.#ref = `refs/heads/${deps.branch}`;
    const cache = deps.cacheBytes === undefined ? {} : { cacheBytes: deps.cacheBytes };
    this.#reader = new RepositoryReader({ path: this.#path, ...cache });
  }

  async readTree(id: string): Promise<GitTree> {
    const known = this.#reader.knownTree(id);
    if (known !== undefined) return known;
    const tree = new GitTree(await this.#read(id, 'tree'));
    this.addTree(id, tree);
    return tree;
  }

  addTree(id: string, tree: GitTree): void {
    this.#reader.addTree(id, tree);
  }

  async readBlob(id: string): Promise<Buffer> {
    return this.#read(id, 'blob');
  }

  async readTreeOfCommit(id: string): Promise<string> {
    return treeOfCommit(await this.#read(id, 'commit'));
  }

  /** Remembers what was just pushed, so that it need not be fetched. */
  keep(objects: readonly NewObject[], tip: string): void {
    for (const object of objects) {
      if (this.#kept.has(object.id)) continue;
      this.#kept.set(object.id, object);
      this.#keptBytes += object.bytes.length;
      if (object.type === 'tree' && this.#reader.knownTree(object.id) === undefined) {
        this.addTree(object.id, new GitTree(object.bytes));
      }
    }
    this.#keptTip = tip;
    if (this.#keptBytes > FLUSH_BYTES || this.#kept.size > FLUSH_OBJECTS) void this.flush();
  }

  /** Writes what was kept to disk. Never rejects: what cannot be written is fetched again when it is needed. */
  async flush(): Promise<void> {
    this.#flushing = this.#flushing.then(async () => this.#writeKept());
    return this.#flushing;
  }

  /** Brings the branch up to date, rewritten history included. `tip` is undefined when the host has no such branch. */
  async fetch(credential: GitCredential, signal: AbortSignal): Promise<Fetched> {
    return await this.#bring(this.#ref, this.#ref, credential, signal);
  }

  /** Fetched under one name for all of them: what is proposed is looked at, and not kept. */
  async fetchBranch(branch: string, credential: GitCredential, signal: AbortSignal): Promise<Fetched> {
    return await this.#bring(`refs/heads/${branch}`, PROPOSED_REF, credential, signal);
  }

  /** Tip of the branch as of the last fetch or push. */
  async tip(): Promise<string | undefined> {
    if (this.#kept.size > 0 && this.#keptTip !== undefined) return this.#keptTip;
    await this.#make();
    return this.#reader.tip(this.#ref);
  }

  /** Runs a reading git command in the mirror, with everything that was pushed in it. */
  async query(args: readonly string[], signal: AbortSignal, input?: string): Promise<string> {
    await this.flush();
    return (await this.#reader.git(args, signal, input)).toString('utf8');
  }

  noteRewritten(): void {
    this.#isRewritten = true;
  }

  /** After a rewritten history nothing is written meanwhile, nor fetched: then all that the old one had goes. */
  async maintain(signal: AbortSignal): Promise<void> {
    const drops = this.#isRewritten;
    const work = async (): Promise<void> => {
      if ((await this.tip()) === undefined) return;
      const settings = [['safe.directory', this.#path]] as const;
      await maintainRepository({
        path: this.#path,
        settings,
        timeoutMs: MAINTENANCE_TIMEOUT_MS,
        signal,
        dropsUnreachable: drops,
      });
      if (drops) this.#isRewritten = false;
    };
    if (!drops) return work();
    await this.flush();
    const done = this.#flushing.then(work);
    this.#flushing = done.catch(() => undefined);
    await done;
  }

  /** Throws the copy away. The next fetch makes it anew. */
  async reset(): Promise<void> {
    await this.#flushing;
    this.#reader[Symbol.dispose]();
    this.#kept.clear();
    this.#keptBytes = 0;
    this.#keptTip = undefined;
    this.#made = false;
    await rm(this.#path, { recursive: true, force: true });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.flush();
    this.#reader[Symbol.dispose]();
  }

  async #read(id: string, type: ObjectType): Promise<Buffer> {
    const kept = this.#kept.get(id);
    if (kept !== undefined) return kept.bytes;
    await this.#make();
    return this.#reader.read(id, type);
  }

  async #make(): Promise<void> {
    if (this.#made) return;
    await mkdir(dirname(this.#path), { recursive: true });
    await runGit(['init', '--quiet', '--bare', '--template=', this.#path]);
    this.#made = true;
  }

  async #bring(remoteRef: string, ref: string, credential: GitCredential, signal: AbortSignal): Promise<Fetched> {
    await this.flush();
    for (let attempt = 1; ; attempt += 1) {
      try {
        await this.#make();
        await this.#fetch(`+${remoteRef}:${ref}`, credential, signal);
        return { state: 'ok', tip: await this.#reader.tip(ref) };
      } catch (error) {
        signal.throwIfAborted();
        if (!(error instanceof GitProcessError)) throw error;
        const fault = classifyFetchError(error);
        if (fault === 'no-branch') {
          await this.#reader.git(['update-ref', '-d', ref]);
          return { state: 'ok', tip: undefined };
        }
        if (fault !== 'damaged') {
          const isNotActive = fault === 'auth' && isFresh(credential);
          const message = isNotActive ? `${NOT_ACTIVE_YET}: ${error.message}` : error.message;
          return { state: 'rejected', rejection: fault, message };
        }
        if (attempt > 1) return { state: 'rejected', rejection: 'unavailable', message: error.message };
        this.#deps.logger.warn({ err: error, mirror: this.#path }, 'the Git mirror is damaged and is made anew');
        await this.reset();
      }
    }
  }

  async #fetch(refspec: string, credential: GitCredential, signal: AbortSignal): Promise<void> {
    const remote = this.#deps.remote ?? new HttpRemote(this.#deps);
    await using access = await remote.native(credential);
    const flags = ['--quiet', '--no-tags', '--no-write-fetch-head', '--no-recurse-submodules', '--end-of-options'];
    await runGit(['fetch', ...flags, this.#deps.url, refspec], {
      cwd: this.#path,
      env: { ...access.environment, GIT_DIR: this.#path },
      signal,
      timeoutMs: this.#deps.fetchTimeoutMs ?? 600_000,
    });
  }

  async #writeKept(): Promise<void> {
    // A copy: pushes go on while this is being written.
    const [kept, tip] = [[...this.#kept.values()], this.#keptTip];
    if (kept.length === 0 || tip === undefined) return;
    try {
      await this.#make();
      const pack = await writePack(kept, { thin: true });
      await runGit(['index-pack', '--stdin', '--fix-thin'], { cwd: this.#path, env: this.#env, input: pack });
      await this.#reader.git(['update-ref', this.#ref, tip]);
      this.#flushes += 1;
      if (this.#flushes % FLUSHES_PER_REPACK === 0) await this.#reader.git(['repack', '--geometric=2', '-d', '-q']);
    } catch (error) {
      this.#deps.logger.warn({ err: error, mirror: this.#path }, 'pushed objects could not be kept in the Git mirror');
    }
    for (const { id, bytes } of kept) if (this.#kept.delete(id)) this.#keptBytes -= bytes.length;
  }

  get #env(): Readonly<Record<string, string>> {
    return { GIT_DIR: this.#path, GIT_NO_REPLACE_OBJECTS: '1' };
  }
}

function classifyFetchError(error: GitProcessError): Rejection | 'no-branch' | 'damaged' {
  const text = error.stderr;
  if (/couldn't find remote ref/i.test(text)) return 'no-branch';
  if (
    /Authentication failed|Permission denied \(|could not read (Username|Password)|returned error: (401|403|404)|repository (not found|'.*' not found)/i.test(
      text,
    )
  ) {
    return 'auth';
  }
  const damaged =
    /bad object|object file .* is empty|loose object .* is corrupt|packfile .* (cannot be|is corrupt)|not a git repository|invalid sha1 pointer|did not send all necessary objects|bad config|unable to read tree/i;
  return damaged.test(text) ? 'damaged' : 'unavailable';
}
