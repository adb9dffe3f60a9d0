import type { PruneBreaker } from '../../protocol/agent-config.ts';
import { Reason } from '../../resources/reasons.ts';
import type { Prune, SourceFault } from '../delivery.ts';

/** A third of the objects and more than three of them, or all. */
export const DEFAULT_BREAKER: PruneBreaker = { fraction: 1 / 3, objects: 3 };

/** On the Cluster: a revision whose vanished files a person has looked at. */
export const ACCEPT_REMOVALS_ANNOTATION = 'ops.service.io/accept-removals';

const MAX_SHOWN = 10;

export interface Listing {
  readonly revision: string;
  /** The cluster's directory. */
  readonly path: string;
  /** Manifest files, readable or not. */
  readonly present: ReadonlySet<string>;
  /** `<namespace>/<name>` of each tombstone. */
  readonly buried: ReadonlySet<string>;
}

export interface BreakerSituation extends Listing {
  /** What is applied, by the file that brought it; where nothing is pruned only what the last whole listing had. */
  readonly before: readonly Prune[];
  /** What vanished is to be deleted for it. */
  readonly prunes: boolean;
  /** The branch was rewritten, and nobody has looked at what the new history lacks. */
  readonly isRewritten: boolean;
  /** Some file cannot be read. */
  readonly faults: readonly SourceFault[];
}

/** What is applied and has no file any more, and no tombstone either. */
export function vanishedFiles({ before, present, buried }: BreakerSituation): readonly Prune[] {
  return before.filter(({ key }) => !present.has(key) && !buried.has(nameOf(key)));
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
  const where = `the directory ${path === '' ? '/' : path}`;
  const all = present.size === 0 || (prunes && gone.length === before.length);
  const many = gone.length > limits.objects && gone.length / before.length > limits.fraction;
  if (present.size === 0) return held(situation, gone, `${where} has no manifest any more`);
  if (all || many)
    return held(situation, gone, `${where} has lost ${gone.length} of ${before.length} applied manifests`);
  if (!prunes || !situation.isRewritten) return undefined;
  return held(situation, gone, `the branch was rewritten, and ${where} lacks ${gone.length} applied manifests since`);
}

/** What is not read whole says nothing of what is missing: a file may only stand in the wrong place. */
export function pruneWaits(situation: BreakerSituation): SourceFault | undefined {
  const gone = vanishedFiles(situation);
  const [fault, ...others] = situation.faults;
  if (!situation.prunes || gone.length === 0 || fault === undefined) return undefined;
  const more = others.length === 0 ? '' : ` and ${others.length} more`;
  return {
    key: situation.path,
    reason: Reason.RemovalsHeld,
    message: `nothing is removed for ${shown(gone)} while a file of the directory cannot be read: ${fault.key}${more}`,
  };
}

function held({ path, revision }: BreakerSituation, gone: readonly Prune[], what: string): SourceFault {
  return {
    key: path,
    reason: Reason.RemovalsHeld,
    message:
      `${what} and no tombstone says so (${shown(gone)}); nothing is taken for removed. Put the files back, or if this is ` +
      `meant: servicectl clusters accept-removals CLUSTER --revision ${revision}, or on the cluster: kubectl -n ` +
      `service-system annotate --overwrite clusters.ops.service.io --all ${ACCEPT_REMOVALS_ANNOTATION}=${revision}`,
  };
}

function shown(gone: readonly Prune[]): string {
  const keys = gone.slice(0, MAX_SHOWN).map(({ key }) => key);
  const more = gone.length > MAX_SHOWN ? ` and ${gone.length - MAX_SHOWN} more` : '';
  return keys.join(', ') + more;
}

/** `apps/shop/podinfo.yaml` → `shop/podinfo`. */
function nameOf(key: string): string {
  return key.replace(/^[^/]+\//, '').replace(/\.yaml$/, '');
}
