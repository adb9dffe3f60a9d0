import { Reason } from '../../resources/reasons.ts';
import type { SourceFault } from '../delivery.ts';

export interface BreakerLimits {
  /** More than this part of the files gone at once is not believed. */
  readonly fraction: number;
  /** Below so many applied files before, a fraction says nothing. */
  readonly least: number;
}

export const DEFAULT_BREAKER: BreakerLimits = { fraction: 0.5, least: 3 };

/** On the Cluster: a revision whose vanished files a person has looked at. */
export const ACCEPT_REMOVALS_ANNOTATION = 'ops.service.io/accept-removals';

/**
 * Whether a listing may claim to be the whole of what is wanted. A directory that is empty, or has lost most of its files
 * with no tombstone for them, is more likely a wrong branch, a bad merge or a half-restored host than a wish; then the
 * answer is the fault to show, and nothing is taken for removed until a person accepts the revision.
 */
export function mostFilesVanished(
  situation: {
    /** Paths of the manifests that are applied and were in the last complete listing. */
    readonly before: readonly string[];
    readonly present: ReadonlySet<string>;
    /** `<namespace>/<name>` of each tombstone. */
    readonly buried: ReadonlySet<string>;
    readonly path: string;
    readonly revision: string;
  },
  limits: BreakerLimits,
): SourceFault | undefined {
  const { before, present, buried, path, revision } = situation;
  const vanished = before.filter((key) => !present.has(key) && !buried.has(nameOf(key)));
  const all = vanished.length > 0 && present.size === 0;
  const most = before.length >= limits.least && vanished.length / before.length > limits.fraction;
  if (!all && !most) return undefined;
  const what = all ? 'has no manifest any more' : `has lost ${vanished.length} of ${before.length} applied manifests`;
  const shown = vanished.slice(0, 5).join(', ');
  const more = vanished.length > 5 ? ` and ${vanished.length - 5} more` : '';
  return {
    key: path,
    reason: Reason.SourceUnreachable,
    message: `the directory ${path === '' ? '/' : path} ${what} and no tombstone says so (${shown}${more}); nothing is taken for removed. Put the files back, or annotate the Cluster with ${ACCEPT_REMOVALS_ANNOTATION}=${revision} if this is meant`,
  };
}

/** `apps/shop/podinfo.yaml` → `shop/podinfo`. */
function nameOf(key: string): string {
  return key.replace(/^[^/]+\//, '').replace(/\.yaml$/, '');
}
