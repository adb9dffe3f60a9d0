import { findCondition } from '../../resources/conditions.ts';
import type { HelmRelease } from '../../resources/flux-helm-release.ts';
import { Reason } from '../../resources/reasons.ts';
import type { Verdict } from './verdict.ts';

/** helm-controller's words in Ready, and in Reconciling (`Running 'correct cluster drift' action with timeout of …`). */
const CORRECTING = /correct(?:ing)? cluster drift/;

/**
 * While Flux puts back what others changed, Ready of its own is Unknown. What is asked for is released all the same, so
 * Ready stays; that something is being corrected, or cannot be, is said beside it.
 */
export function driftVerdict(release: HelmRelease, running: Verdict): Verdict | undefined {
  const conditions = release.status?.conditions;
  const ready = findCondition(conditions, 'Ready');
  const reconciling = findCondition(conditions, 'Reconciling');
  const isUnknown = ready?.status === 'Unknown' && CORRECTING.test(ready.message ?? '');
  const isStarting = reconciling?.status === 'True' && CORRECTING.test(reconciling.message ?? '');
  if (!isUnknown && !isStarting) return undefined;
  const name = release.metadata.name;
  const what = 'what the chart installed was changed by others';
  const message = `${what}, and Flux puts it back (events of HelmRelease ${name} say what)`;
  const correcting = { status: 'True', reason: Reason.DriftCorrecting, message } as const;
  if (reconciling?.reason !== 'ProgressingWithRetry') return { ...running, reconciling: correcting };
  const failed = `${what}, and cannot be put back; Flux tries again. Why: kubectl -n ${release.metadata.namespace ?? ''} events --for helmrelease/${name}`;
  return {
    ...running,
    reconciling: correcting,
    degraded: { status: 'True', reason: Reason.HelmReleaseFailed, message: failed },
  };
}
