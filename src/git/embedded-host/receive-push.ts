import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { link, mkdir, readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { gitConfigEnvironment, gitEnvironment, GitProcessError, runGit } from '../git-process.ts';
import { ZERO_ID } from '../git-object.ts';
import { readLooseRef } from '../loose-ref.ts';
import { checkMove } from './check-move.ts';
import { checkPush, pushLogArguments, type PushFault } from './check-push.ts';
import type { DirectoryMove } from '../directory-moves.ts';
import type { ScopeEntry } from './git-access.ts';
import { moveBranch } from './move-branch.ts';
import { proposalScope } from './proposal-branch.ts';
import { packObjectCount, type PushRequest } from './push-request.ts';

/** What became of a push, as its client is told. */
export type PushOutcome =
  | { readonly state: 'accepted' }
  | {
      readonly state: 'rejected';
      /** `unpack` line of the report: `ok`, or why the pack was not taken in. */
      readonly unpack: string;
      /** Reason of each `ng` line. */
      readonly reason: string;
      /** For the person: shown by git as `remote: …`. */
      readonly text: string;
    };

export interface ReceivePushDeps {
  /** Folder of the bare repository. */
  readonly repository: string;
  /** `refs/heads/<branch>`: the shared branch. Beside it only branches of proposals are written. */
  readonly ref: string;
  readonly scope: readonly ScopeEntry[];
  /** Instead of writing in directories: moving exactly these. */
  readonly moves?: readonly DirectoryMove[];
  readonly maxPackBytes: number;
  readonly settings: readonly (readonly [string, string])[];
  readonly signal: AbortSignal;
  readonly now: Date;
  /** Runs what is given to it when nothing else of its kind runs for this repository. */
  readonly inTurn: <Value>(work: () => Promise<Value>) => Promise<Value>;
  /** Asked right before the branch moves: a push may take longer than its credential is good for. */
  readonly stillAllowed: () => Promise<boolean>;
  /** Is told of a push to the shared branch before it is answered, with the list of its commits. It never rejects. */
  readonly follow?: (push: {
    readonly oldId: string | undefined;
    readonly newId: string;
    readonly log: string;
  }) => Promise<void>;
  /** Is given the clearing away that need not be waited for; it never rejects. */
  readonly afterwards: (work: Promise<void>) => void;
}

/** More objects stay one pack, as in git (`receive.unpackLimit`). */
const UNPACK_LIMIT = 100;
/** Every finding of fsck refuses the push; what follows a NUL in a commit message would be hidden from review. */
const STRICT = '--strict=nulInCommit=error';
const MAX_LOG_BYTES = 64 * 1024 * 1024;
const EXPIRED = rejected('not allowed', 'the Git credential has expired or was revoked meanwhile; nothing was written');

/**
 * Takes in one push, as `git receive-pack` does, with git's own plumbing but in two processes and, above all, without
 * its walk over the whole tree of the branch: at 100,000 directories that walk alone takes half a second. The pack goes
 * to a quarantine folder; git checks every object and that all it links to is there (`--strict`); every commit is
 * checked against the scope; only then the objects join the repository and the branch moves, by compare-and-swap.
 *
 * What stands in for the walk: objects enter the repository by this way alone, so whatever is there has all it links to.
 *
 * @param rest the pack after `request.packHead`
 */
export async function receivePush(
  deps: ReceivePushDeps,
  request: PushRequest,
  rest: AsyncIterable<Buffer>,
): Promise<PushOutcome> {
  const [command, ...others] = request.commands;
  if (command === undefined || others.length > 0) return rejected('one branch at a time', 'push one branch at a time');
  const scope =
    command.ref === deps.ref ? deps.scope : deps.moves === undefined ? proposalScope(command.ref, deps.scope) : [];
  if (command.ref !== deps.ref && scope.length === 0) {
    return rejected(
      'not allowed',
      `only ${deps.ref} is written here, and proposals/<slug>/<intent id> of the credential's clusters, not ${command.ref}`,
    );
  }
  const { oldId, newId, ref } = command;
  if (newId === undefined) {
    if (ref === deps.ref) return rejected('deletion prohibited', `deleting ${deps.ref} is not allowed`);
    return await deps.inTurn(async () => await deleteBranch(deps, ref, oldId));
  }
  const objects = join(deps.repository, 'objects');
  const quarantine = join(objects, `tmp_objdir-incoming-${randomBytes(8).toString('hex')}`);
  const environment = {
    ...gitConfigEnvironment(deps.settings),
    GIT_DIR: deps.repository,
    GIT_OBJECT_DIRECTORY: quarantine,
    GIT_ALTERNATE_OBJECT_DIRECTORIES: `"${objects.replace(/["\\]/g, String.raw`\$&`)}"`,
    GIT_NO_REPLACE_OBJECTS: '1',
  };
  const early = await findMoved(deps, ref, oldId);
  if (early !== undefined) return early;
  try {
    await mkdir(join(quarantine, 'pack'), { recursive: true });
    const unpackFault = await unpack(deps, environment, request.packHead, rest);
    if (unpackFault !== undefined) {
      return {
        state: 'rejected',
        unpack: unpackFault.split('\n')[0] ?? '',
        reason: 'unpacker error',
        text: unpackFault,
      };
    }
    // Of pushes that come at once one wins; the others are spared the rest of the work. The body is in by now, so no
    // slow client holds up the next.
    return await deps.inTurn(async () => {
      const push = { ref, oldId, newId, scope };
      const checked = (await findMoved(deps, ref, oldId)) ?? (await checkCommits(deps, environment, push));
      if (typeof checked !== 'string') return checked;
      if (!(await deps.stillAllowed())) return EXPIRED;
      await migrate(quarantine, objects);
      const unmoved = await moveBranch({ ...deps, ref, oldId, newId });
      if (unmoved !== undefined) return rejected('failed to update ref', unmoved);
      if (ref === deps.ref) await deps.follow?.({ oldId, newId, log: checked });
      return { state: 'accepted' };
    });
  } finally {
    // What stays behind after a crash goes with git's own pruning, which knows the name.
    deps.afterwards(rm(quarantine, { recursive: true, force: true }).catch(() => undefined));
  }
}

/** Feeds the pack to git; gives what git said when it is not whole, not sound, or links to what is not there. */
async function unpack(
  deps: ReceivePushDeps,
  environment: Readonly<Record<string, string>>,
  head: Buffer,
  rest: AsyncIterable<Buffer>,
): Promise<string | undefined> {
  const count = packObjectCount(head);
  if (count === undefined) return 'the push holds no pack';
  const limit = `--max-input-size=${deps.maxPackBytes}`;
  const args =
    count > UNPACK_LIMIT
      ? ['index-pack', '--stdin', '--fix-thin', STRICT, limit]
      : ['unpack-objects', '-q', STRICT, limit];
  const child = spawn('git', args, {
    cwd: deps.repository,
    env: gitEnvironment(environment),
    stdio: ['pipe', 'ignore', 'pipe'],
    signal: deps.signal,
    killSignal: 'SIGKILL',
  });
  let stderr = '';
  child.stderr.on('data', (chunk: Buffer) => {
    if (stderr.length < 8192) stderr += chunk.toString('utf8');
  });
  const ended = Promise.withResolvers<number | null>();
  child.on('error', ended.reject);
  child.on('close', ended.resolve);
  const source = Readable.from(
    (async function* () {
      yield head;
      yield* rest;
    })(),
    { objectMode: false },
  );
  const [fed, code] = await Promise.allSettled([pipeline(source, child.stdin, { signal: deps.signal }), ended.promise]);
  deps.signal.throwIfAborted();
  if (code.status === 'rejected') throw code.reason;
  if (code.value !== 0) return stderr.trim() === '' ? 'the pack could not be taken in' : stderr.trim();
  // Git may be done before the body is; any other end of the body means that the client went away.
  if (fed.status === 'rejected' && !isClosedPipe(fed.reason)) throw fed.reason;
  return undefined;
}

/** @returns the list of the commits when nothing is wrong with them */
async function checkCommits(
  deps: ReceivePushDeps,
  environment: Readonly<Record<string, string>>,
  push: {
    readonly ref: string;
    readonly oldId: string | undefined;
    readonly newId: string;
    readonly scope: readonly ScopeEntry[];
  },
): Promise<PushOutcome | string> {
  const isProposal = push.ref !== deps.ref;
  if (deps.moves !== undefined) {
    const git = { cwd: deps.repository, env: environment, signal: deps.signal };
    return refusalOf(await checkMove({ ...push, moves: deps.moves, git })) ?? '';
  }
  let log: string;
  try {
    // A proposal is judged from where it leaves the shared branch, whatever its own branch held before.
    const output = await runGit(pushLogArguments(isProposal ? deps.ref : push.oldId, push.newId), {
      cwd: deps.repository,
      env: environment,
      signal: deps.signal,
      maxOutputBytes: MAX_LOG_BYTES,
    });
    log = output.toString('utf8');
  } catch (error) {
    deps.signal.throwIfAborted();
    if (!(error instanceof GitProcessError) || error.exitCode === null) throw error;
    // The old tip is not here at all: the client knows another history.
    return rejected('non-fast-forward', `the commits cannot be read from the tip of ${deps.ref}; fetch first`);
  }
  return refusalOf(checkPush(log, { ...push, ...(isProposal ? { standsOnKnown: true } : {}) })) ?? log;
}

function refusalOf(fault: PushFault | undefined): PushOutcome | undefined {
  if (fault === undefined) return undefined;
  return fault.kind === 'moved'
    ? rejected('non-fast-forward', fault.text)
    : rejected('pre-receive hook declined', fault.lines.join('\n'));
}

/**
 * Moves objects into the repository: loose ones each to its place, a pack before its index, since an index is what makes
 * a pack count. One that is there already stays.
 */
async function migrate(quarantine: string, objects: string): Promise<void> {
  const folders = (await readdir(quarantine)).filter((name) => /^[0-9a-f]{2}$/.test(name));
  await Promise.all(
    folders.map(async (folder) => {
      await mkdir(join(objects, folder), { recursive: true });
      const files = await readdir(join(quarantine, folder));
      await Promise.all(
        files.map(async (file) => linkOnce(join(quarantine, folder, file), join(objects, folder, file))),
      );
    }),
  );
  const packs = (await readdir(join(quarantine, 'pack'))).toSorted((a, b) => rank(a) - rank(b));
  for (const file of packs) await rename(join(quarantine, 'pack', file), join(objects, 'pack', file));
}

function rank(file: string): number {
  return file.endsWith('.idx') ? 1 : 0;
}

async function linkOnce(from: string, to: string): Promise<void> {
  try {
    await link(from, to);
  } catch (error) {
    if (errorCode(error) === 'EEXIST') return;
    // A file system without hard links.
    await rename(from, to);
  }
}

/** Spares the work when the branch is known to be elsewhere; the swap decides. */
async function findMoved(
  deps: ReceivePushDeps,
  ref: string,
  oldId: string | undefined,
): Promise<PushOutcome | undefined> {
  const current = await readLooseRef(deps.repository, ref);
  if (current === undefined || current === (oldId ?? ZERO_ID)) return undefined;
  return rejected('fetch first', `${ref} is at ${current}; fetch first`);
}

/** Rare, so git does it: it knows where a branch may stand. Only from the commit that the client knows. */
async function deleteBranch(deps: ReceivePushDeps, ref: string, oldId: string | undefined): Promise<PushOutcome> {
  // Git would delete whatever is there.
  if (oldId === undefined)
    return rejected('stale info', `${ref} is deleted from the commit that it is at, and no other`);
  if (!(await deps.stillAllowed())) return EXPIRED;
  try {
    await runGit(['update-ref', '-d', ref, oldId], {
      cwd: deps.repository,
      env: { ...gitConfigEnvironment(deps.settings), GIT_DIR: deps.repository },
      signal: deps.signal,
    });
    return { state: 'accepted' };
  } catch (error) {
    deps.signal.throwIfAborted();
    if (!(error instanceof GitProcessError) || error.exitCode === null) throw error;
    return rejected('failed to update ref', error.stderr.trim());
  }
}

function rejected(reason: string, text: string): PushOutcome {
  return { state: 'rejected', unpack: 'ok', reason, text };
}

function isClosedPipe(error: unknown): boolean {
  return ['EPIPE', 'ERR_STREAM_PREMATURE_CLOSE', 'ERR_STREAM_DESTROYED'].includes(errorCode(error) ?? '');
}

function errorCode(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}
