import type { PruneBreaker } from '../../../protocol/agent-config.ts';
import { Reason } from '../../../resources/reasons.ts';
import type { Prune, SourceFault } from '../../delivery.ts';

/** A third of the objects and more than three of them, or all. */
export const DEFAULT_BREAKER: PruneBreaker = { fraction: 1 / 3, objects: 3 };

/** On the Cluster: which removals a person has looked at, as the condition names them. */
export const ACCEPT_REMOVALS_ANNOTATION = 'ops.service.io/accept-removals';

const MAX_SHOWN = 10;
const MAX_SHOWN_LENGTH = 500;

export interface Listing {
  readonly revision: string;
  /** The cluster's directory. */
  readonly path: string;
  /** The name of the cluster, where the source tells it. */
  readonly slug?: string;
  /** Manifest files, readable or not. */
  readonly present: ReadonlySet<string>;
  /** The manifest files that tombstones stand for. */
  readonly buried: ReadonlySet<string>;
}

export interface BreakerSituation extends Listing {
  /** What is applied, by the file that brought it; where nothing is pruned only what the last whole listing had. */
  readonly before: readonly Prune[];
  /** What vanished is to be deleted for it. */
  readonly prunes: boolean;
  /** Objects that went of late for vanished files: so many small steps are one large one. */
  readonly prunedLately: number;
  /** Why what was read does not go on from what is applied, where it does not. */
  readonly otherHistory?: string;
  /** What a person says who accepts this. */
  readonly acceptance: string;
  /** Some file cannot be read. */
  readonly faults: readonly SourceFault[];
}

/** What is applied and has no file any more, and no tombstone either. */
export function vanishedFiles({
  before,
  present,
  buried,
}: Pick<BreakerSituation, 'before' | 'present' | 'buried'>): readonly Prune[] {
  return before.filter(({ key }) => !present.has(key) && !buried.has(key));
}

/**
 * Whether a listing may claim to be the whole of what is wanted. A directory that is empty, or has lost many of its files
 * with no tombstone for them, is more likely a wrong branch, a bad merge or a half-restored host than a wish; then the
 * answer is the fault to show, and nothing is taken for removed until a person accepts the revision.
 */
export function removalsAreHeld(situation: BreakerSituation, limits: PruneBreaker): SourceFault | undefined {
  const { before, present, path, prunes } = situation;
  const gone = vanishedFiles(situation);
  if (gone.length === 0) return undefined;
  const where = path === '' ? "the cluster's directory" : `the directory ${path}`;
  const all = present.size === 0 || (prunes && gone.length === before.length);
  const lately = prunes ? situation.prunedLately : 0;
  const [went, there] = [gone.length + lately, before.length + lately];
  const many = went > limits.objects && went / there > limits.fraction;
  if (present.size === 0) return held(situation, gone, `${where} has no manifest any more`);
  const before24 = lately === 0 ? '' : `, after ${lately} that went within a day`;
  if (all || many)
    return held(situation, gone, `${where} has lost ${gone.length} of ${before.length} applied manifests${before24}`);
  if (!prunes || situation.otherHistory === undefined) return undefined;
  return held(situation, gone, `${situation.otherHistory}, and ${where} lacks ${gone.length} applied manifests since`);
}

/** What is not read whole says nothing of what is missing: a file may only stand in the wrong place. */
export function pruneWaits(situation: BreakerSituation): SourceFault | undefined {
  const gone = vanishedFiles(situation);
  const [fault, ...others] = situation.faults;
  if (!situation.prunes || gone.length === 0 || fault === undefined) return undefined;
  const more = others.length === 0 ? '' : ` and ${others.length} more`;
  return {
    key: nameOfDirectory(situation),
    reason: Reason.RemovalsHeld,
    message: `nothing is removed for ${shown(gone)} while a file of the directory cannot be read: ${fault.key}${more}`,
  };
}

function held(situation: BreakerSituation, gone: readonly Prune[], what: string): SourceFault {
  const { slug = 'CLUSTER', acceptance, prunes } = situation;
  // Where nothing is pruned there is nothing to accept.
  const meant = prunes
    ? `if this is meant: servicectl clusters accept-removals ${slug} --revision ${acceptance}, or on the cluster: kubectl ` +
      `-n service-system annotate --overwrite clusters.ops.service.io --all ${ACCEPT_REMOVALS_ANNOTATION}=${acceptance}`
    : 'uninstall the objects through the control plane';
  return {
    key: nameOfDirectory(situation),
    reason: Reason.RemovalsHeld,
    message: `${what} and no tombstone says so (${shown(gone)}); nothing is taken for removed. Put the files back, or ${meant}`,
  };
}

/** A cluster's own repository is the directory, and has no path. */
function nameOfDirectory({ path }: BreakerSituation): string {
  return path === '' ? 'directory' : path;
}

function shown(gone: readonly Prune[]): string {
  let room = MAX_SHOWN_LENGTH;
  const keys = gone.slice(0, MAX_SHOWN).map(({ key }) => key);
  // The command that follows must not be cut off.
  const fitting = keys.filter((key, index) => index === 0 || (room -= key.length + 2) > 0);
  const more = gone.length > fitting.length ? ` and ${gone.length - fitting.length} more` : '';
  return fitting.join(', ') + more;
}
