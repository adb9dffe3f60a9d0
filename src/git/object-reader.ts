import { spawn, type ChildProcessByStdio } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';
import { gitEnvironment } from './git-process.ts';

export interface StoredObject {
  readonly type: string;
  readonly bytes: Buffer;
}

interface Asked {
  readonly resolve: (object: StoredObject | undefined) => void;
  readonly reject: (error: Error) => void;
}

const IDLE_MS = 30_000;
const NEWLINE = 0x0a;

/**
 * Reads objects of a local repository through one `git cat-file --batch`, which knows packs, deltas and what a fetch
 * brought since it started. Started at the first read, ended after 30 s without one; started again after a crash.
 */
export class ObjectReader implements Disposable {
  readonly #repository: string;
  #child: ChildProcessByStdio<Writable, Readable, null> | undefined;
  readonly #asked: Asked[] = [];
  #chunks: Buffer[] = [];
  #size = 0;
  /** Bytes at which the answer that is being received can be read on. */
  #needed = 1;
  #idle: NodeJS.Timeout | undefined;

  constructor(deps: { readonly repository: string }) {
    this.#repository = deps.repository;
  }

  /** The object, or `undefined` when the repository does not have it. `id` is a full object id. */
  async read(id: string): Promise<StoredObject | undefined> {
    const { promise, resolve, reject } = Promise.withResolvers<StoredObject | undefined>();
    const child = this.#started();
    this.#asked.push({ resolve, reject });
    child.stdin.write(`${id}\n`);
    return promise;
  }

  [Symbol.dispose](): void {
    this.#end(new Error('the object reader was closed'));
  }

  #started(): ChildProcessByStdio<Writable, Readable, null> {
    clearTimeout(this.#idle);
    this.#idle = undefined;
    if (this.#child !== undefined) return this.#child;
    const child = spawn('git', ['cat-file', '--batch'], {
      cwd: this.#repository,
      env: gitEnvironment({ GIT_DIR: this.#repository, GIT_NO_REPLACE_OBJECTS: '1' }),
      stdio: ['pipe', 'pipe', 'ignore'],
    });
    const onEnd = (error: Error): void => {
      if (this.#child === child) this.#end(error);
    };
    child.on('error', onEnd);
    child.stdin.on('error', onEnd);
    child.on('close', (code) => onEnd(new Error(`git cat-file ended (exit ${String(code)})`)));
    child.stdout.on('data', (chunk: Buffer) => {
      if (this.#child === child) this.#receive(chunk);
    });
    this.#child = child;
    return child;
  }

  #receive(chunk: Buffer): void {
    this.#chunks.push(chunk);
    this.#size += chunk.length;
    if (this.#size < this.#needed) return;
    let bytes = Buffer.concat(this.#chunks);
    this.#needed = 1;
    for (;;) {
      const newline = bytes.indexOf(NEWLINE);
      if (newline < 0) break;
      const [, type = '', length = ''] = bytes.toString('latin1', 0, newline).split(' ');
      if (type === 'missing' || type === 'ambiguous') {
        this.#asked.shift()?.resolve(undefined);
        bytes = bytes.subarray(newline + 1);
        continue;
      }
      const end = newline + 1 + Number(length);
      if (bytes.length < end + 1) {
        this.#needed = end + 1;
        break;
      }
      // Copied: a view would keep the whole buffer of other answers alive in the cache.
      this.#asked.shift()?.resolve({ type, bytes: Buffer.from(bytes.subarray(newline + 1, end)) });
      bytes = bytes.subarray(end + 1);
    }
    this.#chunks = bytes.length === 0 ? [] : [bytes];
    this.#size = bytes.length;
    if (this.#asked.length === 0 && this.#child !== undefined) {
      this.#idle = setTimeout(() => this.#end(new Error('idle')), IDLE_MS);
      this.#idle.unref();
    }
  }

  #end(error: Error): void {
    clearTimeout(this.#idle);
    const child = this.#child;
    this.#child = undefined;
    this.#chunks = [];
    this.#size = 0;
    this.#needed = 1;
    child?.kill('SIGKILL');
    for (const asked of this.#asked.splice(0)) asked.reject(error);
  }
}
