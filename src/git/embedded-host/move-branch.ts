import { randomUUID } from 'node:crypto';
import {
  appendFile,
  link,
  mkdir,
  open,
  readFile,
  rename,
  rm,
  stat,
  writeFile,
  type FileHandle,
} from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { isObjectId, ZERO_ID } from '../git-object.ts';
import { readLooseRef } from '../loose-ref.ts';

/** A lock this old is of a process that died: holding one takes milliseconds. */
const STALE_LOCK_MS = 60_000;
/** For whoever waits for a lock that nobody holds. */
const LEFT_LOCK = 'What a killed process left there is taken over a minute after it was made.';

/**
 * Moves a branch from `oldId` to `newId` by compare-and-swap, as git does it in its own files: lock, compare, write,
 * sync, rename, note it in the reflog. Git commands on the same repository respect the lock and see the result.
 * Done here it costs no process; and a lock that a crash left behind, which stops git until a person removes it, goes
 * after a minute.
 *
 * @returns why it was not moved, in git's words; `undefined` when it was
 */
export async function moveBranch(deps: {
  readonly repository: string;
  readonly ref: string;
  readonly oldId: string | undefined;
  readonly newId: string;
  readonly now: Date;
  /** The repository can be made anew from another one: nothing is synced, and no reflog is kept. */
  readonly isDerived?: true;
}): Promise<string | undefined> {
  const { repository, ref, oldId, newId, now } = deps;
  const path = join(repository, ref);
  const lock = `${path}.lock`;
  await using held = await writeLock(lock, deps);
  if (held === undefined) return `cannot lock ref '${ref}': Unable to create '${ref}.lock': File exists. ${LEFT_LOCK}`;
  let moved = false;
  try {
    const current = (await readLooseRef(repository, ref)) ?? (await readPackedRef(repository, ref));
    if (current !== oldId) {
      return `cannot lock ref '${ref}': is at ${current ?? ZERO_ID} but expected ${oldId ?? ZERO_ID}`;
    }
    // Only this very file may become the branch: whoever took it for stale may have put another in its place.
    if (await isSameFile(lock, held)) await renameIfThere(lock, path);
    moved = await isSameFile(path, held);
    if (!moved) return `cannot lock ref '${ref}': another process took the lock`;
  } finally {
    if (!moved && (await isSameFile(lock, held))) await rm(lock, { force: true });
  }
  if (deps.isDerived !== true) await noteMove(repository, ref, oldId, newId, now);
  return undefined;
}

/** The lock with its content; undefined when somebody else has it. It stays open, so that no other file gets its number. */
async function writeLock(
  lock: string,
  { newId, now, isDerived }: { readonly newId: string; readonly now: Date; readonly isDerived?: true },
): Promise<FileHandle | undefined> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      await mkdir(dirname(lock), { recursive: true });
      const file = await open(lock, 'wx');
      try {
        await file.writeFile(`${newId}\n`);
        if (isDerived !== true) await file.datasync();
        return file;
      } catch (error) {
        await file.close();
        await rm(lock, { force: true });
        throw error;
      }
    } catch (error) {
      // Git removes the folder of a branch with the last one in it.
      if (codeOf(error) === 'ENOENT' && attempt < 3) continue;
      if (codeOf(error) !== 'EEXIST') throw error;
      if (attempt > 1 || !(await removeIfStale(lock, now))) return undefined;
    }
  }
}

/**
 * The file system's own clock must say so too: the lock may be another machine's, whose clock differs. And of several that
 * find it at once, only the one that moved away this very file goes on; a newer one is put back. It is held open meanwhile:
 * the next file could get the number of one that is gone.
 */
async function removeIfStale(lock: string, now: Date): Promise<boolean> {
  const probe = `${lock}.${randomUUID()}`;
  try {
    await using stale = await open(lock, 'r');
    await writeFile(probe, '');
    const { mtimeMs: present } = await stat(probe);
    if (Math.min(now.getTime(), present) - (await stale.stat()).mtimeMs < STALE_LOCK_MS) return false;
    await rename(lock, probe);
    if (await isSameFile(probe, stale)) return true;
    await link(probe, lock);
    return false;
  } catch (error) {
    if (codeOf(error) === 'ENOENT' || codeOf(error) === 'EEXIST') return false;
    throw error;
  } finally {
    await rm(probe, { force: true });
  }
}

async function isSameFile(path: string, file: FileHandle): Promise<boolean> {
  const [there, ours] = await Promise.all([
    stat(path, { bigint: true }).catch(undefinedIfGone),
    file.stat({ bigint: true }),
  ]);
  return there !== undefined && there.ino === ours.ino && there.dev === ours.dev;
}

async function renameIfThere(from: string, to: string): Promise<void> {
  await rename(from, to).catch(undefinedIfGone);
}

function undefinedIfGone(error: unknown): undefined {
  if (codeOf(error) !== 'ENOENT') throw error;
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined;
}

/** A branch that `git pack-refs` has put away (gitrepository-layout, "packed-refs"). */
async function readPackedRef(repository: string, ref: string): Promise<string | undefined> {
  const text = await readFile(join(repository, 'packed-refs'), 'utf8').catch((error: unknown) => {
    if (codeOf(error) === 'ENOENT') return '';
    throw error;
  });
  for (const line of text.split('\n')) {
    if (line.slice(41) === ref && isObjectId(line.slice(0, 40))) return line.slice(0, 40);
  }
  return undefined;
}

/** The reflog tells who moved the branch when: for repair. It is no part of the promise, so a fault in it fails nothing. */
async function noteMove(
  repository: string,
  ref: string,
  oldId: string | undefined,
  newId: string,
  now: Date,
): Promise<void> {
  const log = join(repository, 'logs', ref);
  const who = `control-plane <control-plane@service.invalid> ${Math.floor(now.getTime() / 1000)} +0000`;
  try {
    await mkdir(dirname(log), { recursive: true });
    await appendFile(log, `${oldId ?? ZERO_ID} ${newId} ${who}\tpush\n`);
  } catch {
    // Nothing to be done about it here.
  }
}
