import { isObjectId } from '../git-object.ts';
import { GitProcessError } from '../git-process.ts';
import type { RepositoryReader } from '../repository-reader.ts';
import type { PlaceMove, Places } from './projection-target.ts';

/** A stretch of the shared branch in which a cluster's directory has one place. */
export interface Stretch {
  readonly directory: string;
  /** The commit with which it begins; undefined: where the history does. */
  readonly since: string | undefined;
}

/** Moves looked for, by tip and move: what was found stays. */
export type FoundMoves = Map<string, string | undefined>;

const DAY_MS = 24 * 60 * 60 * 1000;
const ID_TRAILER = 'Layout-Move-Id';

/**
 * The stretches of the history of `tip`, the newest first. The last one may begin at a commit: what is before it is not
 * known, and is nobody's.
 *
 * @param places read after `tip`
 * @throws when the last move on record is neither in that history nor after it: where directories are is not known then
 */
export async function stretchesOf(
  reader: Pick<RepositoryReader, 'git'>,
  tip: string,
  places: Places,
  found: FoundMoves,
  signal: AbortSignal,
): Promise<readonly [Stretch, ...Stretch[]]> {
  const stretches: Stretch[] = [];
  let directory = places.now;
  for (const move of places.moves) {
    const key = `${tip} ${move.id} ${move.commit}`;
    const commit = found.has(key) ? found.get(key) : await findMove(reader, tip, move, signal);
    found.set(key, commit);
    if (commit === undefined) {
      // A move that is not there yet is one of the newest.
      if (stretches.length > 0) return nonEmpty(stretches, directory);
    } else {
      stretches.push({ directory: move.to, since: commit });
    }
    directory = move.from;
  }
  if (places.isCut !== true || stretches.length === 0) stretches.push({ directory, since: undefined });
  return nonEmpty(stretches, directory);
}

function nonEmpty([first, ...others]: readonly Stretch[], directory: string): readonly [Stretch, ...Stretch[]] {
  return [first ?? { directory, since: undefined }, ...others];
}

/** The commit of the move in the history of `tip`; undefined when that one is from before it. */
async function findMove(
  reader: Pick<RepositoryReader, 'git'>,
  tip: string,
  move: PlaceMove,
  signal: AbortSignal,
): Promise<string | undefined> {
  if (move.commit !== undefined && (await isAncestor(reader, move.commit, tip, signal))) return move.commit;
  // It may not be on record yet, or have another id since the branch was rewritten.
  const named = await findByTrailer(reader, tip, move, signal);
  if (named !== undefined) return named;
  if (move.commit === undefined || (await isAncestor(reader, tip, move.commit, signal))) return undefined;
  throw new Error(
    `the history at ${tip.slice(0, 12)} does not hold the change of layout ${move.id} (commit ${move.commit.slice(0, 12)}) that is on record: where directories are in it is not known`,
  );
}

async function findByTrailer(
  reader: Pick<RepositoryReader, 'git'>,
  tip: string,
  move: PlaceMove,
  signal: AbortSignal,
): Promise<string | undefined> {
  const args = ['log', '--first-parent', '--no-color', '--no-decorate', '--no-show-signature', '--no-mailmap'];
  const format = `--format=%H %(trailers:key=${ID_TRAILER},valueonly,unfold,separator=%x2C)`;
  const since =
    move.notBefore === undefined ? [] : [`--since=${Math.floor((Date.parse(move.notBefore) - DAY_MS) / 1000)}`];
  const range = ['--fixed-strings', `--grep=${ID_TRAILER}: ${move.id}`, ...since, tip, '--'];
  const output = (await reader.git([...args, format, ...range], signal)).toString('utf8');
  const line = output.split('\n').find((text) => text.slice(41) === move.id && isObjectId(text.slice(0, 40)));
  return line?.slice(0, 40);
}

export async function isAncestor(
  reader: Pick<RepositoryReader, 'git'>,
  ancestor: string,
  commit: string,
  signal: AbortSignal,
): Promise<boolean> {
  try {
    await reader.git(['merge-base', '--is-ancestor', ancestor, commit], signal);
    return true;
  } catch (error) {
    signal.throwIfAborted();
    // 1: it is not; 128: it is not even here.
    if (error instanceof GitProcessError && error.exitCode !== null) return false;
    throw error;
  }
}
