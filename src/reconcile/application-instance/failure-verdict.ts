import type { Condition } from '../../protocol/condition.ts';
import type { ApplicationInstance } from '../../resources/application-instance.ts';
import { findCondition } from '../../resources/conditions.ts';
import { FluxReleaseReason, type HelmRelease } from '../../resources/flux-helm-release.ts';
import { Reason } from '../../resources/reasons.ts';
import { hasRun, releaseOf, underWay } from './release-history.ts';
import { withoutRollback } from './rolled-back-verdict.ts';
import type { Finding, Verdict } from './verdict.ts';

/**
 * A release that failed, by what Flux says:
 *
 *     failed ──tries left──► Degraded, Reconciling ──► Ready, or failed again
 *        └──none left──► Degraded: as it failed | rolled back | uninstalled, and Stalled
 *
 * Ready says why it failed and nothing else, from the first failed try to the end: what was done about it stands in
 * Degraded, so that one failure is told once, and its remedy once.
 */
export function failureVerdict(instance: ApplicationInstance, release: HelmRelease, state: Condition): Verdict {
  const conditions = release.status?.conditions;
  const said = state.message ?? state.reason ?? 'the release failed';
  const released = findCondition(conditions, 'Released');
  const cause = (released?.status === 'False' ? released.message : undefined) ?? said;
  const isRetrying = findCondition(conditions, 'Reconciling')?.status === 'True';
  const stalled = findCondition(conditions, 'Stalled');
  const failure: Finding = { status: 'False', reason: failureReason(release, state), message: cause };
  const remedy = isRetrying ? undefined : REMEDIES.get(state.reason ?? '');
  const seen = releaseOf(release);
  return {
    ready: failure,
    // Of a reason of its own: what stands under the failure's is told as one more failure.
    reconciling: isRetrying
      ? { status: 'True', reason: underWay(release, instance.spec.chart).reason, message: cause }
      : isNews(stalled?.message, cause)
        ? { status: 'False', reason: Reason.RetriesExhausted, message: `${stalled?.message}; ${UNTIL}` }
        : failure,
    degraded:
      remedy === undefined
        ? { ...failure, status: 'True' }
        : { status: 'True', reason: remedy, message: isNews(said, cause) ? `${cause}; then: ${said}` : cause },
    ...(stalled?.status === 'True' ? { stalled: { ...failure, status: 'True' } } : {}),
    ...(seen === undefined ? {} : { release: seen }),
  };
}

const UNTIL =
  'nothing more is tried until an update changes the release, or a release-reconcile with reset asks for it';

function isNews(said: string | undefined, known: string): said is string {
  return said !== undefined && !known.includes(said);
}

/** What Flux did after the last try, by what Ready says then. */
const REMEDIES: ReadonlyMap<string, Reason> = new Map([
  [FluxReleaseReason.RollbackSucceeded, Reason.HelmReleaseRolledBack],
  [FluxReleaseReason.UninstallSucceeded, Reason.HelmReleaseTakenOut],
  [FluxReleaseReason.RollbackFailed, Reason.HelmReleaseFailed],
  [FluxReleaseReason.UninstallFailed, Reason.HelmReleaseFailed],
]);

function failureReason(release: HelmRelease, state: Condition): Reason {
  if (state.reason === FluxReleaseReason.TestFailed) return Reason.HelmReleaseFailed;
  const action = release.status?.lastAttemptedReleaseAction ?? (hasRun(release) ? 'upgrade' : 'install');
  return action === 'install' ? Reason.HelmReleaseInstallFailed : Reason.HelmReleaseUpgradeFailed;
}

const FAILURES: readonly string[] = [Reason.HelmReleaseInstallFailed, Reason.HelmReleaseUpgradeFailed];

/** A further try of the very same is under way: what Ready said of the one before holds until that is over. */
export function tryingAgain(instance: ApplicationInstance, release: HelmRelease): Finding | undefined {
  const { status, metadata } = instance;
  if (status?.observedGeneration !== metadata.generation || (release.status?.failures ?? 0) === 0) return undefined;
  const before = findCondition(status?.conditions, 'Ready');
  const { reason, message = '' } = before ?? {};
  if (before?.status !== 'False' || reason === undefined || !FAILURES.includes(reason)) return undefined;
  return { status: 'False', reason: reason as Reason, message: withoutRollback(message) };
}
