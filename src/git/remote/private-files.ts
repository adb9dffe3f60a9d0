import { accessSync, constants } from 'node:fs';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const PREFIX = 'service-git-';
/** In memory where the system has it: a key does not touch a disk then. */
const MEMORY = '/dev/shm';

/**
 * Files of one git or ssh process, which takes a key or roots by the name of a file alone: ssh closes every other
 * descriptor as it starts, so a pipe cannot be handed to it. In a directory that only this user can open, and gone when the
 * process is.
 */
export class PrivateFiles implements AsyncDisposable {
  readonly #directory: string;

  private constructor(directory: string) {
    this.#directory = directory;
  }

  static async make(): Promise<PrivateFiles> {
    await sweepOnce();
    // mkdtemp makes it with mode 0700.
    return new PrivateFiles(await mkdtemp(join(parent(), `${PREFIX}${process.pid}-`)));
  }

  /** @returns the file's path */
  async write(name: string, text: string): Promise<string> {
    const path = join(this.#directory, name);
    await writeFile(path, text, { mode: 0o600, flag: 'wx' });
    return path;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.#directory, { recursive: true, force: true });
  }
}

function parent(): string {
  try {
    accessSync(MEMORY, constants.W_OK | constants.X_OK);
    return MEMORY;
  } catch {
    return tmpdir();
  }
}

let swept: Promise<void> | undefined;

/** What a process left that was killed in between: nobody else removes it. */
async function sweepOnce(): Promise<void> {
  swept ??= sweep();
  await swept;
}

async function sweep(): Promise<void> {
  const directory = parent();
  for (const name of await readdir(directory).catch(() => [])) {
    const pid = new RegExp(`^${PREFIX}(\\d+)-`).exec(name)?.[1];
    if (pid === undefined || isRunning(Number(pid))) continue;
    await rm(join(directory, name), { recursive: true, force: true }).catch(() => undefined);
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // Another user's process is one that runs.
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}
