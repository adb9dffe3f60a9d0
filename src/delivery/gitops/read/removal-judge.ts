import { createHash } from 'node:crypto';
import type { Clock } from '../../../runtime/clock.ts';
import type { DesiredSet, Prune, SourceFault } from '../../delivery.ts';
import type { DirectoryReading } from './directory-reader.ts';
import { slugIn, type GitTarget } from './git-target.ts';
import { manifestPathFor } from '../layout.ts';
import {
  DEFAULT_BREAKER,
  pruneWaits,
  removalsAreHeld,
  vanishedFiles,
  type BreakerSituation,
} from './removal-breaker.ts';
import {
  isSamePlace,
  readSourceMemory,
  type SourceLine,
  type SourceMemory,
  type SourceMemoryStore,
} from './source-memory.ts';

export interface RemovalJudgeDeps {
  /** What is applied now, by the manifest that brought it. */
  readonly applied: () => readonly Prune[];
  readonly memory: SourceMemoryStore;
  /** Objects that went since then because their files had vanished, and that nobody had accepted. */
  readonly prunedSince: (time: Date) => number;
  readonly clock: Clock;
  /** What a person accepted on the cluster itself. */
  readonly acceptedRevision?: () => string | undefined;
}

/** What was fetched, and whether it goes on from another commit. */
export interface Tip {
  readonly commit: string;
  readonly goesOnFrom: (commit: string) => Promise<boolean>;
}

/** Removals of so long a time are looked at as if they came at once. */
const WINDOW_MS = 24 * 60 * 60 * 1000;
const DIGEST_LENGTH = 32;
/** Keys and UIDs that are remembered: a ConfigMap holds 1 MiB. What is beyond is asked for once more. */
const MAX_NOTED = 3000;

/** Says of a reading whether it may stand for the whole of what is wanted, and what goes for it. */
export class RemovalJudge {
  readonly #deps: RemovalJudgeDeps;
  /** Of the last reading. What it brings may still be on its way to the inventory. */
  #lastKeys: ReadonlySet<string> = new Set();
  /** What the last verdict knew of: these, and what was applied then. */
  #known: ReadonlySet<string> = new Set();
  #isHeld = true;

  constructor(deps: RemovalJudgeDeps) {
    this.#deps = deps;
  }

  /** Nothing is read of this source for now, and what it had then says nothing of what it should have later. */
  leave(): void {
    this.#lastKeys = new Set();
    this.#known = new Set();
    this.#isHeld = true;
  }

  /** What a verdict rests on besides the reading: with another of these the same revision is read and judged anew. */
  circumstances(target: GitTarget): string {
    const { url, branch, path, pruneOnRemoval = false, breaker = null } = target;
    const trust = [target.allowedSigners ?? null, target.trustedRevision ?? null];
    return JSON.stringify([url, branch, path, pruneOnRemoval, breaker, this.#offered(target), ...trust]);
  }

  /** False for a file that came to be applied only after it was taken away again. */
  isKnown(key: string): boolean {
    return this.#known.has(key);
  }

  /** Another commit with the directory as it was judged last; false where it has to be judged anew. */
  async follow(target: GitTarget, tip: Tip): Promise<boolean> {
    const memory = readSourceMemory(this.#deps.memory);
    if (!(await goesOn(memory, target, tip))) return false;
    if (!this.#isHeld) this.#write({ ...memory, line: lineOf(target, tip) });
    return true;
  }

  async judge(reading: DirectoryReading, target: GitTarget, tip: Tip): Promise<DesiredSet> {
    const { revision, objects, removals, faults, paths } = reading;
    const prunes = target.pruneOnRemoval === true;
    const memory = readSourceMemory(this.#deps.memory);
    const present = new Set(paths);
    const buried = new Set(removals.map(({ tombstone }) => manifestPathFor(tombstone)));
    const lacks = [...this.#lastKeys].some((key) => !present.has(key) && !buried.has(key));
    this.#lastKeys = present;
    const applied = this.#deps.applied();
    this.#known = new Set([...paths, ...applied.map(({ key }) => key)]);
    const all = { revision, path: target.path, ...slugIn(target), before: applied, present, buried, prunes, faults };
    const gone = vanishedFiles(all);
    // What lacks nothing may be what is gone on from, wherever it comes from; this is asked only where it matters.
    const isWhole = gone.length === 0 && !lacks;
    const isOurs =
      isWhole || (memory.line === undefined ? applied.length === 0 && !lacks : await goesOn(memory, target, tip));
    const names = namesOf(revision, target, gone);
    const isAccepted = prunes && gone.length > 0 && this.#isAccepted(memory, { revision, isOurs, names, gone }, target);
    const reported = new Set(prunes ? [] : memory.gone);
    const situation: BreakerSituation = {
      ...all,
      before: applied.filter(({ key }) => !reported.has(key)),
      prunedLately: this.#deps.prunedSince(this.#windowStart(memory)),
      acceptance: isOurs ? names.ours : names.foreign,
      ...(isOurs ? {} : { otherHistory: otherHistory(memory, target) }),
    };
    const held = isAccepted ? undefined : removalsAreHeld(situation, target.breaker ?? DEFAULT_BREAKER);
    this.#isHeld = held !== undefined;
    const waits = held ?? pruneWaits(situation);
    const { granted: _ended, ...kept } = memory;
    this.#write({
      ...kept,
      ...(isAccepted || (isOurs && held === undefined) ? { line: lineOf(target, tip) } : {}),
      ...(held === undefined ? { gone: gone.map(({ key }) => key).slice(0, MAX_NOTED) } : {}),
      ...this.#grants(memory, { revision, prunes, isAccepted, gone }, target),
    });
    const told: readonly SourceFault[] = waits === undefined ? faults : [waits, ...faults];
    return {
      revision,
      scope: held === undefined ? 'complete' : 'partial',
      objects,
      removals,
      faults: told,
      ...(isSigned(target) ? { isSigned: true } : {}),
      ...(prunes && waits === undefined && gone.length > 0 ? { prunes: gone } : {}),
      ...(isAccepted ? { isAccepted: true } : {}),
    };
  }

  #isAccepted(
    memory: SourceMemory,
    found: { revision: string; isOurs: boolean; names: AcceptanceNames; gone: readonly Prune[] },
    target: GitTarget,
  ): boolean {
    const { revision, isOurs, names, gone } = found;
    const { granted } = memory;
    if (isOurs && granted?.revision === revision && gone.every(({ uid }) => granted.uids.includes(uid))) return true;
    // What was accepted of another history stands once that is ours, and never the other way round.
    const good = isOurs ? [names.ours, names.foreign] : [names.foreign];
    return this.#offered(target).some((text) => good.includes(text) && memory.void?.includes(text) !== true);
  }

  #grants(
    memory: SourceMemory,
    now: { revision: string; prunes: boolean; isAccepted: boolean; gone: readonly Prune[] },
    target: GitTarget,
  ): Partial<Pick<SourceMemory, 'granted' | 'void' | 'countsFrom'>> {
    const { revision, prunes, isAccepted, gone } = now;
    const offered = this.#offered(target);
    const isNew = isAccepted && memory.granted?.revision !== revision;
    return {
      void: offered.filter((text) => !prunes || memory.void?.includes(text) === true),
      ...(isNew ? { countsFrom: this.#deps.clock.now().toISOString() } : {}),
      ...(isAccepted ? { granted: { revision, uids: gone.map(({ uid }) => uid).slice(0, MAX_NOTED) } } : {}),
    };
  }

  #offered(target: GitTarget): readonly string[] {
    return [target.acceptedRemovals, this.#deps.acceptedRevision?.()].filter((text) => text !== undefined);
  }

  #windowStart({ countsFrom }: SourceMemory): Date {
    const start = this.#deps.clock.now().getTime() - WINDOW_MS;
    const accepted = countsFrom === undefined ? Number.NaN : Date.parse(countsFrom);
    return new Date(Number.isNaN(accepted) ? start : Math.max(start, accepted));
  }

  #write(memory: SourceMemory): void {
    this.#deps.memory.write(JSON.stringify(memory));
  }
}

interface AcceptanceNames {
  readonly ours: string;
  readonly foreign: string;
}

/**
 * What a person accepts: that exactly these objects go, for this directory, read from there. So it is used up by their end,
 * and says nothing of objects that are made later, nor of the same tree in another history.
 */
function namesOf(revision: string, target: GitTarget, gone: readonly Prune[]): AcceptanceNames {
  const { url, branch, path } = target;
  const objects = gone.map(({ key, uid }) => `${key} ${uid}`).sort();
  const name = (isOurs: boolean): string => {
    const text = JSON.stringify([isOurs, url, branch, path, revision, objects]);
    return `${revision}@${createHash('sha256').update(text).digest('hex').slice(0, DIGEST_LENGTH)}`;
  };
  return { ours: name(true), foreign: name(false) };
}

async function goesOn({ line }: SourceMemory, target: GitTarget, { goesOnFrom }: Tip): Promise<boolean> {
  return line !== undefined && isSamePlace(line, target) && (await goesOnFrom(line.commit));
}

function lineOf({ url, branch, path }: GitTarget, { commit }: Tip): SourceLine {
  return { url, branch, path, commit };
}

function otherHistory({ line }: SourceMemory, target: GitTarget): string {
  if (line === undefined) return 'it is not known any more which commit was applied last';
  if (isSamePlace(line, target)) return 'the branch was rewritten or went back';
  return `this is another repository, branch or directory than ${line.url} ${line.branch} /${line.path}, which was applied last`;
}

/** What is not signed as it must be is not read at all. */
function isSigned({ allowedSigners }: GitTarget): boolean {
  return allowedSigners !== undefined;
}
