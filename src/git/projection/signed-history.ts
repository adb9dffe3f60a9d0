import { setImmediate as turn } from 'node:timers/promises';
import { EMPTY_TREE_ID } from '../git-object.ts';
import type { RepositoryReader } from '../repository-reader.ts';
import type { ProjectionTrust } from './projected-commit.ts';
import { changesOf, directoryTree } from './source-history.ts';
import type { Stretch } from './stretches.ts';

/** A directory with more changes than that is not vouched for by looking at them all. */
const MAX_CHANGES = 5000;
const TIMEOUT_MS = 30_000;
/** Verified in one turn of the event loop. */
const TURN_COMMITS = 64;

/**
 * The keys that signed every commit which changed the directory, from the beginning of the history to `commit`. Undefined
 * when one of them does not count, or not all could be looked at.
 */
export async function signersOfHistory(
  reader: RepositoryReader,
  request: {
    readonly commit: string;
    /** From the one that `commit` is in. */
    readonly stretches: readonly Stretch[];
    readonly trust: ProjectionTrust;
  },
  stop: AbortSignal,
): Promise<ReadonlySet<string> | undefined> {
  const { stretches, trust } = request;
  const signal = AbortSignal.any([stop, AbortSignal.timeout(TIMEOUT_MS)]);
  const keys = new Set<string>();
  let tip = request.commit;
  let seen = 0;
  try {
    for (const [index, { directory, since }] of stretches.entries()) {
      const range = { tip, from: since, directory, max: MAX_CHANGES + 1 };
      for (const commit of tip === since ? [] : await changesOf(reader, range, signal)) {
        seen += 1;
        if (seen > MAX_CHANGES) return undefined;
        if (seen % TURN_COMMITS === 0) await turn(undefined, { signal });
        const key = trust.signerOf(await reader.read(commit, 'commit'));
        if (key === undefined) return undefined;
        keys.add(key);
      }
      if (since === undefined) return keys;
      const before = stretches[index + 1];
      if (before === undefined) return undefined;
      tip = `${since}^1`;
      const [there, here] = await Promise.all([
        directoryTree(reader, { commit: tip, directory: before.directory }),
        directoryTree(reader, { commit: since, directory }),
      ]);
      // It did more than move it, or came in by a merge.
      if (there !== here) return undefined;
      if (here === EMPTY_TREE_ID) return keys;
    }
    return undefined;
  } catch (error) {
    stop.throwIfAborted();
    if (signal.aborted) return undefined;
    throw error;
  }
}
