import type { DesiredSet, Prune, SourceFault } from '../delivery.ts';
import type { DirectoryReading } from './directory-reader.ts';
import type { GitTarget } from './git-target.ts';
import { DEFAULT_BREAKER, pruneWaits, removalsAreHeld, vanishedFiles } from './removal-breaker.ts';

export interface RemovalJudgeDeps {
  /** What is applied now, by the manifest that brought it. */
  readonly applied: () => readonly Prune[];
  /** A revision whose vanished files a person accepted on the cluster itself. */
  readonly acceptedRevision?: () => string | undefined;
}

export interface Judgement {
  readonly set: DesiredSet;
  /** Nothing that is applied is missing, or a person has looked at what is. */
  readonly isWhole: boolean;
}

/** Says of a reading whether it may stand for the whole of what is wanted, and what goes for it. */
export class RemovalJudge {
  readonly #deps: RemovalJudgeDeps;
  #lastKeys: ReadonlySet<string> | undefined;

  constructor(deps: RemovalJudgeDeps) {
    this.#deps = deps;
  }

  /** What a verdict rests on besides the reading: with another of these the same revision is read and judged anew. */
  circumstances(target: GitTarget): string {
    const { url, branch, path, pruneOnRemoval = false, breaker = null, acceptedRemovals = null } = target;
    const trust = [target.allowedSigners ?? null, target.trustedRevision ?? null];
    const accepted = [acceptedRemovals, this.#deps.acceptedRevision?.() ?? null];
    return JSON.stringify([url, branch, path, pruneOnRemoval, breaker, ...accepted, ...trust]);
  }

  judge(reading: DirectoryReading, target: GitTarget, isRewritten: boolean): Judgement {
    const { revision, objects, removals, faults, paths } = reading;
    const prunes = target.pruneOnRemoval === true;
    const situation = {
      revision,
      path: target.path,
      before: this.#before(prunes),
      present: new Set(paths),
      buried: new Set(removals.map(({ tombstone }) => `${tombstone.namespace}/${tombstone.name}`)),
      prunes,
      isRewritten,
      faults,
    };
    const isAccepted = revision === this.#deps.acceptedRevision?.() || revision === target.acceptedRemovals;
    const held = isAccepted ? undefined : removalsAreHeld(situation, target.breaker ?? DEFAULT_BREAKER);
    const waits = held ?? pruneWaits(situation);
    const gone = vanishedFiles(situation);
    const all: readonly SourceFault[] = waits === undefined ? faults : [waits, ...faults];
    const set: DesiredSet = {
      revision,
      scope: held === undefined ? 'complete' : 'partial',
      objects,
      removals,
      faults: all,
      ...(isSigned(target) ? { isSigned: true } : {}),
      ...(prunes && waits === undefined && gone.length > 0 ? { prunes: gone } : {}),
    };
    if (held === undefined) this.#lastKeys = new Set(paths);
    return { set, isWhole: gone.length === 0 || isAccepted };
  }

  /**
   * Only what was applied can be lost: a file that never could be is cleaned up freely. Where nothing is pruned, what had
   * vanished by the last whole listing, and was reported, is not counted again.
   */
  #before(prunes: boolean): readonly Prune[] {
    const applied = this.#deps.applied();
    const known = this.#lastKeys;
    return prunes || known === undefined ? applied : applied.filter(({ key }) => known.has(key));
  }
}

/** What is not signed as it must be is not read at all. */
function isSigned({ allowedSigners }: GitTarget): boolean {
  return allowedSigners !== undefined;
}
